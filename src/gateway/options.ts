/**
 * What a gateway is made of, checked, with its defaults.
 *
 * @module
 */
import { MAX_DELAY_MS, keepAliveClock, type Clock } from '../runtime/clock.js'
import { describe } from '../runtime/describe.js'
import { A2AError, invalidParams } from '../core/errors.js'
import { read } from '../core/validate.js'
import { TaskManager } from '../core/task-manager.js'
import { Admission } from './admission/admission.js'
import type { RegisteredAgent } from './registry/agent.js'
import type { GatewayConfig, GatewaySettings } from './config/types.js'
import type { TurnSettings } from './turns/turn.js'
import type { AgentProvider } from './provider.js'
import { providerName } from './registry/provider-names.js'
import { emitWarning } from '../runtime/report.js'
import { AgentRegistry } from './registry/registry.js'
import { capabilitiesIn } from './registry/selection.js'

/** Where an error came from. */
export interface GatewayErrorContext {
  readonly during: string
  readonly taskId?: string
  readonly agentId?: string
}

export interface A2AGatewayOptions {
  /** Default is a new, empty one. */
  readonly registry?: AgentRegistry | undefined
  /** What speaks to the agents' services, by the name that agents have in `provider`. */
  readonly providers: Readonly<Record<string, AgentProvider>>
  /** Where tasks live. Default is a new manager that drops ended tasks when it is full. */
  readonly tasks?: TaskManager | undefined
  readonly config?: GatewaySettings | undefined
  /**
   * Seals handles: 32 characters at least, the same in every process that shall open them. Of several the first seals, and
   * all open. Default is one that ends with the process.
   */
  readonly handleSecret?: string | readonly string[] | undefined
  /** Which capabilities an instruction needs. Default are those whose names it mentions. */
  readonly extractCapabilities?:
    ((instruction: string, agents: readonly RegisteredAgent[]) => readonly string[]) | undefined
  /**
   * Is told what goes wrong between the gateway and services: no client is. Default is a warning of the process, where the
   * runtime has them.
   */
  readonly onError?: ((error: unknown, context: GatewayErrorContext) => void) | undefined
  readonly clock?: Clock | undefined
}

/** {@link A2AGatewayOptions}, complete. */
export interface Settings extends TurnSettings {
  readonly registry: AgentRegistry
  readonly providers: ReadonlyMap<string, AgentProvider>
  readonly admission: Admission
  readonly secrets: readonly string[]
  readonly extractCapabilities: NonNullable<A2AGatewayOptions['extractCapabilities']>
  readonly onError: (error: unknown, context: GatewayErrorContext) => void
}

const KEYS = [
  ...['registry', 'providers', 'tasks', 'config', 'handleSecret', 'extractCapabilities', 'onError', 'clock'],
]
const CONFIG = {
  taskTimeoutMs: 300_000,
  pollIntervalMs: 1_000,
  cancelTimeoutMs: 10_000,
}
const CONFIG_KEYS = [...Object.keys(CONFIG), 'maxConcurrentTasks', 'rateLimit', 'circuitBreaker']
const METHODS = ['sendTask', 'getTask', 'cancelTask', 'streamTask', 'healthCheck'] as const

/** @throws {TypeError | RangeError | A2AError} naming the option that makes no sense. */
export function toSettings(options: A2AGatewayOptions): Settings {
  const given = read(options, KEYS, 'A2AGateway')
  const { clock = keepAliveClock, extractCapabilities = capabilitiesIn, onError, handleSecret = [] } = given
  const config = read(given.config ?? {}, CONFIG_KEYS, 'config')
  const numbers: Record<string, number> = { ...CONFIG }
  for (const name of Object.keys(CONFIG) as (keyof typeof CONFIG)[]) {
    numbers[name] = Math.min(requirePositive(`config.${name}`, config[name] ?? CONFIG[name]), MAX_DELAY_MS)
  }
  const { maxConcurrentTasks, rateLimit, circuitBreaker } = config
  return {
    // It has every key of CONFIG.
    ...(numbers as typeof CONFIG),
    clock,
    admission: new Admission({ clock, maxConcurrentTasks, rateLimit, circuitBreaker }),
    extractCapabilities,
    registry: given.registry ?? new AgentRegistry({ clock: given.clock }),
    providers: toProviders(given.providers),
    tasks:
      given.tasks ??
      new TaskManager({ whenFull: 'evict-terminal', eventLogSize: 10_000, clock: given.clock }),
    secrets: typeof handleSecret === 'string' ? [handleSecret] : handleSecret,
    onError: neverThrowing(onError ?? reportError),
  }
}

function toProviders(given: A2AGatewayOptions['providers'] | undefined): ReadonlyMap<string, AgentProvider> {
  const providers = new Map<string, AgentProvider>()
  for (const [name, provider] of Object.entries(given ?? {})) {
    const missing = METHODS.find(
      (method) => typeof (provider as Partial<AgentProvider> | undefined)?.[method] !== 'function',
    )
    if (missing !== undefined)
      throw invalidParams(`providers.${name}`, `has no ${missing}(): is it called, as in langGraph()?`)
    providers.set(providerName(name), provider)
  }
  return providers
}

/** Reports an error as a warning of the process, with the reason that a provider gave. */
function reportError(error: unknown, { during, agentId = '' }: GatewayErrorContext): void {
  const { message = 'something that is no error', stack = '', cause } = error instanceof Error ? error : {}
  const { reason = '' } = A2AError.is(error, 'PROVIDER_ERROR') ? error.data : {}
  const text = message.endsWith(reason) ? message : `${message} (${reason})`
  emitWarning(
    `${during}, agent ${agentId}: ${text}. Pass "onError" to handle it`,
    cause instanceof Error ? (cause.stack ?? stack) : stack,
  )
}

/** Whoever is told of errors makes none. */
function neverThrowing(onError: NonNullable<A2AGatewayOptions['onError']>): Settings['onError'] {
  return (error, context) => {
    try {
      // It may be async: such a function is one without a result to its type.
      const call: (...given: [unknown, GatewayErrorContext]) => unknown = onError
      Promise.resolve(call(error, context)).catch(() => undefined)
    } catch {
      // There is nobody else to tell.
    }
  }
}

function requirePositive(option: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value < Infinity) return value
  throw new RangeError(
    `"${option}" must be a positive number, got ${typeof value === 'number' ? value : describe(value)}`,
  )
}

/** What `A2AGateway.fromConfig` is given. What is forgotten most is to wait for it. */
export function requireConfig(config: GatewayConfig): GatewayConfig['gateway'] {
  const { gateway, agents } = (config as Partial<GatewayConfig> | undefined) ?? {}
  if (gateway !== undefined && Array.isArray(agents)) return gateway
  throw new TypeError(
    'A2AGateway.fromConfig takes what loadGatewayConfig gives: await loadGatewayConfig(text)',
  )
}
