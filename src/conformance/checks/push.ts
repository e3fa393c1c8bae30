/** Checks of the configurations of push notifications. */

import type { CardContext, Check } from '../kit/check.js'
import { ensure, ensureEqual, describeAnswer } from '../kit/mismatch.js'
import { expectError, expectResult } from '../kit/answers.js'
import { sentTask } from '../kit/tasks.js'
import type { Called } from '../kit/answers.js'
import type { Target } from '../kit/targets.js'
import type { WireBody, WireConfig } from '../kit/wire.js'

const UNKNOWN = 'there-is-no-such-task'
const CREATE = { '1.0': '§3.1.7', 0.3: '§7.5' }
const offered = ({ card }: CardContext): boolean => card.capabilities?.pushNotifications === true

async function create(
  target: Target,
  id = 'hook',
): Promise<{ readonly taskId: string; readonly answer: Called; readonly config: WireConfig }> {
  const { id: taskId } = sentTask(await target.send('echo push'))
  const answer = await target.call('CreateTaskPushNotificationConfig', {
    taskId,
    id,
    url: target.webhook,
    token: 'secret',
  })
  return { taskId, answer, config: configOf(expectResult(answer, 'a configuration')) }
}

/** `id` and `url` of a configuration, in 0.3 inside of `pushNotificationConfig`. */
function configOf({ pushNotificationConfig, ...rest }: WireConfig): WireConfig {
  const { id, url } = pushNotificationConfig ?? rest
  return { id, url }
}

/** A list is `{ configs }` in 1.0 and in ProtoJSON, a plain one in JSON-RPC of 0.3. */
function configsOf(answer: Called): WireConfig[] {
  const result: WireBody | readonly WireConfig[] = expectResult(answer, 'a list of configurations')
  const list: readonly WireConfig[] = Array.isArray(result) ? result : (result.configs ?? [])
  ensure(answer, Array.isArray(list), 'a list', answer.text)
  return list.map(configOf)
}

export const PUSH_CHECKS: readonly Check[] = [
  {
    id: 'push/create',
    title: 'a configuration comes back with its id and URL',
    spec: CREATE,
    when: offered,
    async run({ target }) {
      const { answer, config } = await create(target)
      ensureEqual(answer, 'id and url', config, { id: 'hook', url: target.webhook })
    },
  },
  {
    id: 'push/get',
    title: 'a configuration is read by its id',
    spec: { '1.0': '§3.1.8', 0.3: '§7.6' },
    when: offered,
    async run({ target }) {
      const { taskId } = await create(target)
      const answer = await target.call('GetTaskPushNotificationConfig', { taskId, id: 'hook' })
      ensureEqual(answer, 'id and url', configOf(expectResult(answer)), { id: 'hook', url: target.webhook })
    },
  },
  {
    id: 'push/list',
    title: 'the configurations of a task are listed',
    spec: { '1.0': '§3.1.9', 0.3: '§7.7' },
    when: (context) => offered(context) && (context.target.isModern || context.target.isJsonRpc),
    async run({ target }) {
      const { taskId } = await create(target)
      const answer = await target.call('ListTaskPushNotificationConfigs', { taskId })
      ensureEqual(answer, 'the configurations', configsOf(answer), [{ id: 'hook', url: target.webhook }])
    },
  },
  {
    id: 'push/delete',
    title: 'a configuration is deleted, and deleting it again succeeds',
    spec: { '1.0': '§3.1.10', 0.3: '§7.8' },
    when: (context) => offered(context) && (context.target.isModern || context.target.isJsonRpc),
    async run({ target }) {
      const { taskId } = await create(target)
      for (let turn = 0; turn < 2; turn++) {
        const answer = await target.call('DeleteTaskPushNotificationConfig', { taskId, id: 'hook' })
        const isDone = answer.error === undefined && answer.status >= 200 && answer.status < 300
        ensure(answer, isDone, 'success', describeAnswer(answer))
      }
      const answer = await target.call('ListTaskPushNotificationConfigs', { taskId })
      ensureEqual(answer, 'the configurations', configsOf(answer), [])
    },
  },
  {
    id: 'push/unknown-task',
    title: 'an unknown task takes no configuration',
    spec: CREATE,
    when: offered,
    async run({ target }) {
      const params = { taskId: UNKNOWN, id: 'hook', url: target.webhook }
      expectError(target, await target.call('CreateTaskPushNotificationConfig', params), 'TASK_NOT_FOUND')
    },
  },
  {
    id: 'push/no-url',
    title: 'a configuration needs a URL',
    spec: '1.0 §4.3.1',
    only: { version: '1.0' },
    when: offered,
    async run({ target }) {
      const { id: taskId } = sentTask(await target.send('echo push'))
      const answer = await target.call('CreateTaskPushNotificationConfig', { taskId, id: 'hook' })
      expectError(target, answer, 'INVALID_PARAMS')
    },
  },
  {
    id: 'push/not-offered',
    title: 'an agent without push notifications refuses configurations, of any task',
    spec: { '1.0': '§3.3.4, §5.4', 0.3: '§8.2' },
    when: (context) => !offered(context),
    async run({ target }) {
      const params = { taskId: UNKNOWN, id: 'hook', url: target.webhook }
      const answer = await target.call('CreateTaskPushNotificationConfig', params)
      expectError(target, answer, 'PUSH_NOTIFICATION_NOT_SUPPORTED')
    },
  },
]
