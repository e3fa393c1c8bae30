/**
 * What operations ask of the webhooks, wherever these are kept.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { Dialect, PushConfig, Requests, Results, TaskPushConfig } from '../../wire/dialect.js'
import type { AcceptedMessage } from '../runs/accepted-message.js'
import type { Settings } from '../options.js'
import { requirePushConfig } from './config.js'
import type { PushSettings } from './options.js'
import { Slots } from './concurrency.js'
import type { PushFailure } from './webhook.js'
import { isPending, type ServedTasks } from '../tasks.js'
import type { MaybePromise } from '../../core/managers.js'
import type { Caller } from '../caller.js'

/** A configuration that was checked, and a place for it. */
export interface Ticket {
  /** Registers it. Its first notification is the task as it is now; `null` when that is gone. */
  register(taskId: string, task: TaskSnapshot | null): MaybePromise<TaskPushConfig>
  /** Gives the place back, unless it was taken. */
  cancel(): void
}

export interface PushService {
  /**
   * Checks what a client says of a webhook. `taskId` is that of the task, where there is one yet.
   *
   * @throws {A2AError} `INVALID_PARAMS`; `LIMIT_EXCEEDED`; `PUSH_NOTIFICATION_NOT_SUPPORTED` in a version that has
   *   none; `UNAVAILABLE`; `REQUEST_ABORTED`.
   */
  prepare(
    config: PushConfig,
    caller: Pick<Caller, 'dialect' | 'signal' | 'principal'>,
    taskId: string | undefined,
    isInline: boolean,
  ): Promise<Ticket>
  /** The configuration with this id; without one, the latest. */
  get(task: TaskSnapshot, id: string | undefined): MaybePromise<TaskPushConfig>
  list(
    task: TaskSnapshot,
    request: Requests['ListTaskPushNotificationConfigs'],
  ): MaybePromise<Results['ListTaskPushNotificationConfigs']>
  /** Nothing is sent from now on; what is on its way at the moment may still arrive. Deleting twice is deleting once. */
  delete(task: TaskSnapshot, id: string): MaybePromise<void>
  /** Takes no more, and ends within `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** Looks at what clients say of webhooks, a few at a time. */
export class PushChecks {
  readonly #settings: PushSettings
  readonly #onError: Settings['onError']
  readonly #slots: Slots

  constructor(settings: PushSettings, onError: Settings['onError']) {
    this.#settings = settings
    this.#onError = onError
    this.#slots = new Slots(settings.maxConcurrent)
  }

  async check(
    config: PushConfig,
    { signal, principal }: Pick<Caller, 'signal' | 'principal'>,
    taskId: string | undefined,
  ): Promise<PushConfig> {
    const place = (host: string, until: AbortSignal): Promise<() => void> =>
      this.#slots.take([principal?.id ?? '', host], until)
    return await requirePushConfig(config, this.#settings, { signal, place }, (refusal) =>
      this.#onError(refusal, { during: 'push', taskId, configId: config.id }),
    )
  }
}

/** Takes a message in: if its webhook is refused, so is the message; where no task comes of it, nobody is told. */
export async function acceptWith(
  accept: () => Promise<AcceptedMessage>,
  prepare: () => Promise<Ticket>,
  tasks: ServedTasks,
): Promise<AcceptedMessage> {
  const ticket = await prepare()
  try {
    const accepted = await accept()
    if (accepted.type === 'task') {
      const task = tasks.peekTask(accepted.taskId)
      const registered = ticket.register(accepted.taskId, isPending(task) ? await task : task)
      if (isPending(registered)) await registered
    }
    return accepted
  } finally {
    ticket.cancel()
  }
}

/** @throws {A2AError} `PUSH_NOTIFICATION_NOT_SUPPORTED` in a version that has none. */
export function requireNotifications(dialect: Dialect): void {
  if ((dialect.encodeNotification ?? dialect.encodeTaskNotification) === undefined) throw pushNotSupported()
}

export function pushNotSupported(): A2AError<'PUSH_NOTIFICATION_NOT_SUPPORTED'> {
  return new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'Push notifications are not supported', {})
}

/** What has become of a webhook, without a secret. */
export function webhookError(
  origin: string,
  what: string,
  { reason, status }: PushFailure,
): A2AError<'EXTERNAL_SERVICE_ERROR'> {
  const text = `A webhook at ${origin} ${what}: ${reason}`
  const data = { service: 'webhook', url: origin, ...(status !== undefined && { status }) }
  return new A2AError('EXTERNAL_SERVICE_ERROR', text, data)
}
