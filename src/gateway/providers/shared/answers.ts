/**
 * Validation of agents' settings and of services' responses.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../../core/errors.js'
import type { SchemaOf, Shape } from '../../../schemas/schema.js'
import { check } from '../../../wire/check.js'
import type { AgentStatus, RegisteredAgent } from '../../registry/agent.js'
import { knownNames } from '../../../runtime/known-names.js'
import type { ProviderCall } from '../../provider.js'
import type { Service, ServiceCall } from './service.js'

/**
 * @throws {A2AError} `INVALID_PARAMS` with the path of what is unknown, missing or wrong, such as `settings.agentName`.
 */
export function parseSettings<T>(
  { settings }: RegisteredAgent,
  schema: SchemaOf<T> & { readonly shape: Shape },
): T {
  const known = Object.keys(schema.shape)
  const unknown = Object.keys(settings).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const reason = `is unknown${knownNames(unknown, known)}`
    throw invalidParams(`settings.${unknown.slice(0, 80)}`, reason)
  }
  return check(schema, settings, 'settings')
}

/** @throws {A2AError} `PROVIDER_ERROR` with the path of what is missing or wrong. */
export function parseAnswer<T>(service: Service, schema: SchemaOf<T>, json: unknown): T {
  try {
    return check(schema, json, 'answer')
  } catch (cause) {
    // `check` throws nothing else.
    throw A2AError.is(cause) ? service.error(`it cannot be understood: ${cause.message}`, { cause }) : cause
  }
}

/**
 * Returns the service's error code for clients: `error` for anything that is not a single word, which may contain
 * anything.
 */
export function codeOf(given: unknown): string {
  return typeof given === 'string' && /^[\w.-]{1,100}$/.test(given) ? given : 'error'
}

/** Limit for the retained pieces of one response, in characters. */
export const MAX_RETAINED = 16_777_216
/** Overhead per piece, so that many small pieces count too. */
const MIN_PIECE_SIZE = 100

/** Size of the pieces of a response that are retained until it is complete, which may never happen. */
export class RetainedSize {
  readonly #service: Service
  #size = 0

  constructor(service: Service) {
    this.#service = service
  }

  /** @throws {A2AError} `PROVIDER_ERROR` when the pieces exceed 16 MiB, or there are too many of them. */
  add(piece: string): void {
    this.#size += piece.length + MIN_PIECE_SIZE
    if (this.#size > MAX_RETAINED) throw this.#service.error('its answer is too long')
  }
}

/** Returns `online` if the request succeeds, `offline` for 404 or without a response, and `degraded` otherwise. */
export async function healthOfRequest(
  service: Service,
  call: ServiceCall,
  { signal }: ProviderCall,
): Promise<AgentStatus> {
  try {
    await service.send(call, { signal })
    return 'online'
  } catch (error) {
    signal.throwIfAborted()
    const status = A2AError.is(error, 'PROVIDER_ERROR') ? error.data.status : undefined
    return status === undefined || status === 404 ? 'offline' : 'degraded'
  }
}
