/**
 * Options of a gateway: validation and defaults.
 *
 * @module
 */
import {
  readOptions,
  requireClock,
  requireFinite,
  requireFunctions,
  requireMethods,
  requireObject,
  requireStrings,
} from '../runtime/options.js'
import { MAX_DELAY_MS, keepAliveClock, systemClock, type Clock } from '../runtime/clock.js'
import { A2AError } from '../core/errors.js'
import { requireProtocolSteps } from '../core/lifecycle.js'
import { TaskManager } from '../core/task-manager.js'
import { Admission } from './admission/admission.js'
import { Statistics } from './admission/statistics.js'
import type { RegisteredAgent } from './registry/agent.js'
import type { GatewayConfig, GatewaySettings } from './config/types.js'
import type { CheckedTasks, GatewayTasks } from './turns/tasks.js'
import type { TurnSettings } from './turns/turn.js'
import type { AgentProvider } from './provider.js'
import { providerName } from './registry/provider-names.js'
import { emitWarning } from '../runtime/report.js'
import { AgentRegistry } from './registry/registry.js'
import { capabilitiesIn } from './registry/selection.js'

/** The origin of an error that `onError` receives. */
export interface GatewayErrorContext {
  /** The call to the service that failed, such as `sendTask`, `getTask` or `cancelTask`. */
  readonly during: string
  readonly taskId?: string
  readonly agentId?: string
}

/** Options of `A2AGateway`. Only `providers` is required. */
export interface A2AGatewayOptions<T extends GatewayTasks = TaskManager> {
  /** The agents. Default is a new, empty registry. */
  readonly registry?: AgentRegistry | undefined
  /** The providers by name. An agent names its own in `provider`. */
  readonly providers: Readonly<Record<string, AgentProvider>>
  /**
   * The manager of all tasks. Default is a new `TaskManager` that evicts ended tasks when it is full, and keeps 10,000
   * events per task. Over a `DurableTaskManager`, another gateway follows the tasks of a process that dies. Its lifecycle may
   * have more steps than `A2A_LIFECYCLE`, and more states in which an agent works; the constructor refuses any other.
   */
  readonly tasks?: T | undefined
  /** Limits and timeouts. */
  readonly config?: GatewaySettings | undefined
  /**
   * Secret that seals handles: at least 32 characters, the same in every process that is to open them. Of several, the
   * first seals and all open. Default is a random secret, so that handles end with the process.
   */
  readonly handleSecret?: string | readonly string[] | undefined
  /** Returns the capabilities that a text needs. Default is every capability name that the text mentions. */
  readonly extractCapabilities?:
    ((instruction: string, agents: readonly RegisteredAgent[]) => readonly string[]) | undefined
  /**
   * Receives the errors between the gateway and its services; clients receive none of them. What it throws is ignored.
   * Default is a process warning, on runtimes that have them.
   */
  readonly onError?: ((error: unknown, context: GatewayErrorContext) => void) | undefined
  /** Source of time and timers. Default is the runtime's clock. */
  readonly clock?: Clock | undefined
}

/** {@link A2AGatewayOptions}, validated and complete. */
export interface Settings extends Omit<TurnSettings, 'tasks'> {
  readonly tasks: CheckedTasks
  /** As `clock`, for work that no caller waits for, which does not keep the process alive. */
  readonly backgroundClock: Clock
  readonly registry: AgentRegistry
  readonly providers: ReadonlyMap<string, AgentProvider>
  readonly admission: Admission
  readonly statistics: Statistics
  readonly secrets: readonly string[]
  readonly extractCapabilities: NonNullable<A2AGatewayOptions['extractCapabilities']>
  readonly onError: (error: unknown, context: GatewayErrorContext) => void
}

export const FROM_CONFIG_KEYS = [
  'registry',
  'providers',
  'tasks',
  'handleSecret',
  'extractCapabilities',
  'onError',
  'clock',
]
const KEYS = [...FROM_CONFIG_KEYS, 'config']
const CONFIG = {
  taskTimeoutMs: 300_000,
  pollIntervalMs: 1_000,
  cancelTimeoutMs: 10_000,
}
const CONFIG_KEYS = [...Object.keys(CONFIG), 'maxConcurrentTasks', 'rateLimit', 'circuitBreaker']
const METHODS = ['sendTask', 'getTask', 'cancelTask', 'streamTask', 'healthCheck'] as const

/** @throws {TypeError | RangeError} for an option with an invalid value. The error names the option. */
export function toSettings(options: A2AGatewayOptions<GatewayTasks>): Settings {
  const given = readOptions(options, KEYS, 'A2AGateway')
  const { clock = keepAliveClock, extractCapabilities = capabilitiesIn, onError } = given
  requireFunctions(given, ['extractCapabilities', 'onError'])
  requireClock(clock)
  if (given.tasks !== undefined) {
    requireMethods('tasks', given.tasks, ['createTask', 'peekTask'], 'be a TaskManager')
    requireProtocolSteps('tasks', given.tasks.lifecycle, 'A gateway')
  }
  if (given.registry !== undefined)
    requireMethods('registry', given.registry, ['register', 'get'], 'be an AgentRegistry')
  const config = readOptions(given.config ?? {}, CONFIG_KEYS, 'A2AGateway', 'config')
  const numbers: Record<string, number> = { ...CONFIG }
  for (const name of Object.keys(CONFIG) as (keyof typeof CONFIG)[]) {
    numbers[name] = Math.min(requireFinite(`config.${name}`, config[name] ?? CONFIG[name]), MAX_DELAY_MS)
  }
  const { maxConcurrentTasks, rateLimit, circuitBreaker } = config
  const registry = given.registry ?? new AgentRegistry({ clock: given.clock })
  return {
    // The loop above has set every key of CONFIG.
    ...(numbers as typeof CONFIG),
    clock,
    backgroundClock: given.clock ?? systemClock,
    admission: new Admission({ clock, maxConcurrentTasks, rateLimit, circuitBreaker }),
    extractCapabilities,
    statistics: new Statistics(clock, (agentId) => registry.get(agentId) !== null),
    registry,
    providers: toProviders(given.providers),
    tasks:
      // A manager by its methods. Its lifecycle is checked above.
      (given.tasks as CheckedTasks | undefined) ??
      new TaskManager({ whenFull: 'evict-terminal', eventLogSize: 10_000, clock: given.clock }),
    secrets: toSecrets(given.handleSecret),
    onError: neverThrowing(onError ?? reportError),
  }
}

function toSecrets(given: A2AGatewayOptions['handleSecret']): readonly string[] {
  if (given === undefined) return []
  const secrets = typeof given === 'string' ? [given] : given
  requireStrings('handleSecret', secrets)
  if (secrets.length === 0) throw new RangeError('"handleSecret" must have at least one secret, got none')
  return secrets
}

function toProviders(given: A2AGatewayOptions['providers']): ReadonlyMap<string, AgentProvider> {
  requireObject(
    'providers',
    given,
    'A2AGateway',
    'an object of providers by name, as in { langgraph: langGraph() }',
  )
  const providers = new Map<string, AgentProvider>()
  for (const [name, provider] of Object.entries(given)) {
    const missing = METHODS.find(
      (method) => typeof (provider as Partial<AgentProvider> | undefined)?.[method] !== 'function',
    )
    if (missing !== undefined)
      throw new TypeError(`"providers.${name}" has no ${missing}(): call the function, as in langGraph()`)
    providers.set(providerName(name), provider)
  }
  return providers
}

/** Reports an error as a warning of the process, with the reason that a provider gave. */
function reportError(error: unknown, { during, agentId = '' }: GatewayErrorContext): void {
  const { message = 'a value that is not an error', stack = '', cause } = error instanceof Error ? error : {}
  const { reason = '' } = A2AError.is(error, 'PROVIDER_ERROR') ? error.data : {}
  const text = message.endsWith(reason) ? message : `${message} (${reason})`
  emitWarning(
    `${during}, agent ${agentId}: ${text}. Pass "onError" to handle it`,
    cause instanceof Error ? (cause.stack ?? stack) : stack,
  )
}

/** Wraps `onError` so that its own failures are ignored. */
function neverThrowing(onError: NonNullable<A2AGatewayOptions['onError']>): Settings['onError'] {
  return (error, context) => {
    try {
      // An async function is assignable to a type without a result; this type lets its rejection be handled.
      const call: (...given: [unknown, GatewayErrorContext]) => unknown = onError
      Promise.resolve(call(error, context)).catch(() => undefined)
    } catch {
      // An error of the error handler has no other receiver.
    }
  }
}

/** Checks the first argument of `A2AGateway.fromConfig`. The common mistake is a missing `await`. */
export function requireConfig(config: GatewayConfig): GatewayConfig['gateway'] {
  const { gateway, agents } = (config as Partial<GatewayConfig> | undefined) ?? {}
  if (gateway !== undefined && Array.isArray(agents)) return gateway
  throw new TypeError(
    'A2AGateway.fromConfig takes the result of loadGatewayConfig: await loadGatewayConfig(text)',
  )
}
