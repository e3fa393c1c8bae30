/**
 * The push notification configurations of one task: lookup, pages and the limit.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { Dialect, PushConfig, Requests, Results, TaskPushConfig } from '../../wire/dialect.js'

/** A registered configuration. In a list the latest is the last, also if it replaces another. */
export interface Listed {
  readonly config: TaskPushConfig['config']
  /** The `version` of the dialect in which it was registered. */
  readonly version: string
  /** Increases with each configuration of the task; a replacement keeps it. Serves as the page token. */
  readonly number: number
}

/** A configuration that is not registered yet. */
export interface Candidate {
  readonly config: PushConfig
  readonly dialect: Dialect
  /** Whether it came with a message. */
  readonly isInline: boolean
  /** Whether that message began the task. */
  readonly isOfNewTask: boolean
}

/** The same configuration, registered already: some clients send it with each message of a conversation. */
export function sameIn<T extends Listed>(
  known: readonly T[],
  { config, dialect, isInline }: Candidate,
): T | undefined {
  return known.find(
    (one) =>
      one.version === dialect.version &&
      (config.id ?? (isInline ? one.config.id : undefined)) === one.config.id &&
      one.config.url === config.url &&
      one.config.token === config.token &&
      one.config.authentication?.scheme === config.authentication?.scheme &&
      one.config.authentication?.credentials === config.authentication?.credentials,
  )
}

/** Whether registering the candidate adds a configuration to the task. */
export function isNewTo(known: readonly Listed[], candidate: Candidate): boolean {
  return (
    !known.some(({ config }) => config.id === candidate.config.id) && sameIn(known, candidate) === undefined
  )
}

/** @throws {A2AError} `LIMIT_EXCEEDED` when `actual` is more than `max` configurations for one task. */
export function requireAtMost(max: number, actual: number): void {
  if (actual <= max) return
  const limit = 'maxPerTask'
  const text = `A task may have at most ${max} push notification configurations`
  throw new A2AError('LIMIT_EXCEEDED', text, { limit, max, actual })
}

/** The configuration with this id; without an id, the latest. */
export function configIn(known: readonly Listed[], taskId: string, id: string | undefined): TaskPushConfig {
  const found = id === undefined ? known.at(-1) : known.find(({ config }) => config.id === id)
  if (found !== undefined) return { taskId, config: found.config }
  // A2A 1.0 §3.1.8 defines no other error for it.
  throw new A2AError('TASK_NOT_FOUND', 'Push notification configuration not found', { taskId })
}

export function pageOf(
  known: readonly Listed[],
  { taskId, pageSize, pageToken }: Requests['ListTaskPushNotificationConfigs'],
): Results['ListTaskPushNotificationConfigs'] {
  const after = pageToken ? Number(pageToken) : 0
  if (!/^\d{0,15}$/.test(pageToken ?? ''))
    throw invalidParams('pageToken', 'must be a nextPageToken of this list')
  const rest = known.filter(({ number }) => number > after).sort((a, b) => a.number - b.number)
  const page = pageSize ? rest.slice(0, pageSize) : rest
  const last = page.length < rest.length ? page.at(-1) : undefined
  return {
    configs: page.map(({ config }) => ({ taskId, config })),
    nextPageToken: last === undefined ? '' : String(last.number),
  }
}
