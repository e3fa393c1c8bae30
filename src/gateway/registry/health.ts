/**
 * Health checks of agents, single and periodic.
 *
 * @module
 */
import { AbortScope } from '../../http/abort.js'
import { MAX_DELAY_MS, type Clock } from '../../runtime/clock.js'
import { discard, open, type HttpCall, type HttpSettings } from '../../http/request.js'
import { A2AError } from '../../core/errors.js'
import type { AgentStatus, RegisteredAgent } from './agent.js'
import type { ProviderCall } from '../provider.js'

/**
 * Returns the health of an agent. A rejection, or any value other than `online`, `degraded` and `offline`, counts as
 * `offline`.
 */
export type HealthCheck = (agent: RegisteredAgent, call: ProviderCall) => AgentStatus | Promise<AgentStatus>

/** Health checks that run at an interval. */
export interface HealthMonitoring {
  /** Stops it. The result of a running check still counts. */
  stop(): void
}

/** A status that a check can observe; only operators set `maintenance`. */
export type ObservedStatus = Exclude<AgentStatus, 'maintenance'>

const OBSERVED_STATUSES: readonly ObservedStatus[] = ['online', 'degraded', 'offline']

/** Runs a check. Without a result within `timeoutMs` the agent is `offline`. */
export async function observeStatus(
  check: HealthCheck,
  agent: RegisteredAgent,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<ObservedStatus> {
  const scope = new AbortScope(clock, undefined)
  scope.arm(timeoutMs)
  try {
    const { signal } = scope
    const status = await scope.race(async () => await check(agent, { signal }))
    return OBSERVED_STATUSES.find((observed) => observed === status) ?? 'offline'
  } catch {
    return 'offline'
  } finally {
    scope.dispose()
  }
}

/**
 * Sends a GET to the agent's URL with its credentials: `online` for 2xx, `degraded` for any other response, `offline`
 * for none. A redirect to another origin is not followed, and counts as a response.
 */
export function httpHealthCheck(settings: HttpSettings, timeoutMs: number): HealthCheck {
  return async ({ endpoint: { url, auth } }, { signal }) => {
    try {
      const call: HttpCall = { method: 'GET', url, isSameOriginOnly: true }
      const opened = await open({ ...settings, auth }, call, { signal, timeoutMs })
      const { response, scope } = opened
      scope.dispose()
      discard(response)
      return response.ok ? 'online' : 'degraded'
    } catch (error) {
      // A redirect that is not followed has a status.
      const hasAnswered = A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') && error.data.status !== undefined
      return hasAnswered ? 'degraded' : 'offline'
    }
  }
}

/** Calls `round` now and every `intervalMs`, except while the previous round is running. */
export function monitor(
  clock: Clock,
  intervalMs: number,
  round: (isActive: () => boolean) => Promise<void>,
): HealthMonitoring {
  let isActive = true
  let isRunning = false
  let disarm = (): void => {}
  const begin = async (): Promise<void> => {
    isRunning = true
    try {
      await round(() => isActive)
    } finally {
      isRunning = false
    }
  }
  const tick = (): void => {
    disarm = clock.schedule(tick, Math.min(intervalMs, MAX_DELAY_MS))
    if (!isRunning) void begin()
  }
  tick()
  return {
    stop() {
      isActive = false
      disarm()
    },
  }
}

/** Runs `work` for each item, with at most `concurrency` items at the same time. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  const worker = async (): Promise<void> => {
    // All workers share one iterator, so each takes the next free item.
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker))
}
