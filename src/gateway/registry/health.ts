/**
 * How agents are: one look at one, and looks at all of them again and again.
 *
 * @module
 */
import { Abortion } from '../../http/abort.js'
import { MAX_DELAY_MS, type Clock } from '../../runtime/clock.js'
import { open, type HttpSettings } from '../../http/request.js'
import { A2AError } from '../../core/errors.js'
import type { AgentStatus, RegisteredAgent } from './agent.js'
import type { ProviderCall } from '../provider.js'

/** Says how an agent is. To reject, or to give anything but `online`, `degraded` and `offline`, is to say `offline`. */
export type HealthCheck = (agent: RegisteredAgent, call: ProviderCall) => AgentStatus | Promise<AgentStatus>

export interface HealthMonitoring {
  /** Ends it. A look that is under way still counts. */
  stop(): void
}

/** What a look can find: `maintenance` is for operators to say. */
export type ObservedStatus = Exclude<AgentStatus, 'maintenance'>

const OBSERVED_STATUSES: readonly ObservedStatus[] = ['online', 'degraded', 'offline']

/** How an agent is now. Who does not say within `timeoutMs` is `offline`. */
export async function observeStatus(
  check: HealthCheck,
  agent: RegisteredAgent,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<ObservedStatus> {
  const abortion = new Abortion(clock, undefined)
  abortion.arm(timeoutMs)
  try {
    const { signal } = abortion
    const status = await abortion.race(async () => await check(agent, { signal }))
    return OBSERVED_STATUSES.find((observed) => observed === status) ?? 'offline'
  } catch {
    return 'offline'
  } finally {
    abortion.dispose()
  }
}

/**
 * GET of the agent's URL, with its credentials: `online` for 2xx, `degraded` for any other answer. A redirect to another
 * origin is one, and is not followed.
 */
export function httpHealthCheck(settings: HttpSettings, timeoutMs: number): HealthCheck {
  return async ({ endpoint: { url, auth } }, { signal }) => {
    try {
      const call = { method: 'GET', url, stays: true } as const
      const opened = await open({ ...settings, auth }, call, { signal, timeoutMs })
      const { response, abortion } = opened
      abortion.dispose()
      response.body?.cancel().catch(() => {
        // It is gone anyway.
      })
      return response.ok ? 'online' : 'degraded'
    } catch (error) {
      // A redirect that is not followed has a status.
      const hasAnswered = A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') && error.data.status !== undefined
      return hasAnswered ? 'degraded' : 'offline'
    }
  }
}

/** Calls `round` now and every `intervalMs`, but not while the last one is under way. */
export function monitor(
  clock: Clock,
  intervalMs: number,
  round: (isOn: () => boolean) => Promise<void>,
): HealthMonitoring {
  let isOn = true
  let isRunning = false
  let disarm = (): void => {}
  const begin = async (): Promise<void> => {
    isRunning = true
    try {
      await round(() => isOn)
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
      isOn = false
      disarm()
    },
  }
}

/** Does `work` for each of `items`, for at most `atOnce` of them at a time. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  const worker = async (): Promise<void> => {
    // Each takes the next one that none has taken.
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker))
}
