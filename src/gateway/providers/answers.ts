/**
 * What agents are set to, and what services answer, checked.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { A2AError } from '../../core/errors.js'
import { check } from '../../wire/check.js'
import type { AgentStatus, RegisteredAgent } from '../agent.js'
import type { ProviderCall } from '../provider.js'
import type { Service, ServiceCall } from '../service.js'

/** @throws {A2AError} `INVALID_PARAMS` with the path of what is missing or wrong: `settings.agentName …`. */
export function settingsOf<T>({ settings }: RegisteredAgent, schema: z.ZodMiniType<T>): T {
  return check(schema, settings, 'settings')
}

/** @throws {A2AError} `PROVIDER_ERROR` with the path of what is missing or wrong. */
export function read<T>(service: Service, schema: z.ZodMiniType<T>, json: unknown): T {
  try {
    return check(schema, json, 'answer')
  } catch (cause) {
    // `check` throws nothing else.
    throw A2AError.is(cause) ? service.error(`it cannot be understood: ${cause.message}`, { cause }) : cause
  }
}

/** `online` if the request succeeds, `offline` if what it asks for is not there or nobody answers, else `degraded`. */
export async function healthBy(
  service: Service,
  call: ServiceCall,
  { signal }: ProviderCall,
): Promise<AgentStatus> {
  try {
    await service.ask(call, { signal })
    return 'online'
  } catch (error) {
    signal.throwIfAborted()
    const status = A2AError.is(error, 'PROVIDER_ERROR') ? error.data.status : undefined
    return status === undefined || status === 404 ? 'offline' : 'degraded'
  }
}
