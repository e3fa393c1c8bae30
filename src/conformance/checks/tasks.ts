/** Checks of GetTask, CancelTask and SubscribeToTask. */

import type { CardContext, Check } from '../kit/check.js'
import { ask, eventsIn } from '../kit/http.js'
import { describeAnswer, ensure, ensureEqual } from '../kit/mismatch.js'
import { expectError, resultOf } from '../kit/answers.js'
import { expectState, nextUpdate, plainTask, sentTask, type PlainTask, updatesOf } from '../kit/tasks.js'
import type { SseEvent } from '../kit/sse.js'
import type { Target } from '../kit/targets.js'

const GET = { '1.0': '§3.1.3', 0.3: '§7.3' }
const CANCEL = { '1.0': '§3.1.5', 0.3: '§7.4' }
const SUBSCRIBE = { '1.0': '§3.1.6', 0.3: '§7.9' }
const HISTORY = { '1.0': '§3.2.4', 0.3: '§7.3.1' }
const UNKNOWN = 'there-is-no-such-task'
const streams = ({ card }: CardContext): boolean => card.capabilities?.streaming === true

async function begin(target: Target): Promise<PlainTask> {
  return sentTask(await target.send('wait', { configuration: { returnImmediately: true } }))
}

export const TASK_CHECKS: readonly Check[] = [
  {
    id: 'get/same',
    title: 'a task is read as it was answered',
    spec: GET,
    async run({ target }) {
      const sent = sentTask(await target.send('echo same'))
      const answer = await target.call('GetTask', { id: sent.id })
      const { raw } = plainTask(answer)
      ensureEqual(
        answer,
        'id, contextId and status',
        [raw.id, raw.contextId, raw.status],
        [sent.id, sent.contextId, sent.raw.status],
      )
      ensureEqual(answer, 'artifacts', raw.artifacts, sent.raw.artifacts)
    },
  },
  {
    id: 'get/unknown',
    title: 'an unknown task is not found',
    spec: GET,
    async run({ target }) {
      expectError(target, await target.call('GetTask', { id: UNKNOWN }), 'TASK_NOT_FOUND')
    },
  },
  {
    id: 'get/history-none',
    title: 'a history of length 0 is no history',
    spec: HISTORY,
    // In ProtoJSON of 0.3, 0 stands for a history without limit.
    when: ({ target }) => target.isModern || target.isJsonRpc,
    async run({ target }) {
      const { id } = sentTask(await target.send('echo history'))
      const answer = await target.call('GetTask', { id, historyLength: 0 })
      ensureEqual(answer, 'the history', plainTask(answer).history, [])
    },
  },
  {
    id: 'get/history-latest',
    title: 'a history of length 1 is the latest message',
    spec: HISTORY,
    async run({ target }) {
      const { id } = sentTask(await target.send('ask'))
      await target.send('Ada', { taskId: id })
      const whole = plainTask(await target.call('GetTask', { id })).history
      const answer = await target.call('GetTask', { id, historyLength: 1 })
      ensureEqual(answer, 'the history', plainTask(answer).history, whole.slice(-1))
    },
  },
  {
    id: 'get/history-negative',
    title: 'a negative length is an invalid parameter',
    spec: '1.0 §3.2.4, §6.5',
    only: { version: '1.0' },
    async run({ target }) {
      const { id } = sentTask(await target.send('echo history'))
      expectError(target, await target.call('GetTask', { id, historyLength: -1 }), 'INVALID_PARAMS')
    },
  },
  {
    id: 'cancel/working',
    title: 'a task that works is canceled',
    spec: CANCEL,
    async run({ target }) {
      const { id } = await begin(target)
      const answer = await target.call('CancelTask', { id })
      const task = plainTask(answer)
      expectState(answer, task, 'canceled')
      ensureEqual(answer, 'the id', task.id, id)
      const found = await target.call('GetTask', { id })
      expectState(found, plainTask(found), 'canceled')
    },
  },
  {
    id: 'cancel/waiting',
    title: 'a task that waits for its user is canceled',
    spec: CANCEL,
    async run({ target }) {
      const { id } = sentTask(await target.send('ask'))
      const answer = await target.call('CancelTask', { id })
      expectState(answer, plainTask(answer), 'canceled')
    },
  },
  {
    id: 'cancel/ended',
    title: 'a task that has ended cannot be canceled',
    spec: CANCEL,
    async run({ target }) {
      const { id } = sentTask(await target.send('echo done'))
      expectError(target, await target.call('CancelTask', { id }), 'TASK_NOT_CANCELABLE')
    },
  },
  {
    id: 'cancel/twice',
    title: 'canceling again answers with the task, or that it has ended',
    spec: { '1.0': '§3.3.1, §3.1.5', 0.3: '§7.4' },
    async run({ target }) {
      const { id } = await begin(target)
      await target.call('CancelTask', { id })
      const answer = await target.call('CancelTask', { id })
      if (answer.error === undefined) expectState(answer, plainTask(answer), 'canceled')
      else expectError(target, answer, 'TASK_NOT_CANCELABLE')
    },
  },
  {
    id: 'cancel/unknown',
    title: 'an unknown task cannot be canceled: it is not found',
    spec: CANCEL,
    async run({ target }) {
      expectError(target, await target.call('CancelTask', { id: UNKNOWN }), 'TASK_NOT_FOUND')
    },
  },
  {
    id: 'subscribe/snapshot',
    title: 'a subscription begins with the task and tells what follows',
    spec: SUBSCRIBE,
    when: streams,
    async run({ target }) {
      const { id } = await begin(target)
      const stream = await target.open('SubscribeToTask', { id })
      const first = await nextUpdate(target, stream)
      ensureEqual(stream, 'the first event', [first.kind, first.id], ['task', id])
      await target.call('CancelTask', { id })
      const rest = await updatesOf(target, stream)
      ensureEqual(stream, 'the last state', rest.at(-1)?.state, 'canceled')
    },
  },
  {
    id: 'subscribe/several',
    title: 'several subscribers of a task have the same updates',
    spec: { '1.0': '§3.5.2', 0.3: '§7.9' },
    when: streams,
    async run({ target }) {
      const { id } = await begin(target)
      const first = await target.open('SubscribeToTask', { id })
      const second = await target.open('SubscribeToTask', { id })
      for (const stream of [first, second]) await nextUpdate(target, stream)
      await target.call('CancelTask', { id })
      const [one, two] = await Promise.all([updatesOf(target, first), updatesOf(target, second)])
      ensureEqual(
        second,
        'the updates',
        two.map(({ raw }) => raw),
        one.map(({ raw }) => raw),
      )
    },
  },
  {
    id: 'subscribe/one-leaves',
    title: 'a subscriber that leaves takes nothing from the others',
    spec: '1.0 §3.5.2',
    only: { version: '1.0' },
    when: streams,
    async run({ target }) {
      const { id } = await begin(target)
      const first = await target.open('SubscribeToTask', { id })
      const second = await target.open('SubscribeToTask', { id })
      for (const stream of [first, second]) await nextUpdate(target, stream)
      first.close()
      await target.call('CancelTask', { id })
      const rest = await updatesOf(target, second)
      ensureEqual(second, 'the last state', rest.at(-1)?.state, 'canceled')
    },
  },
  {
    id: 'subscribe/ended',
    title: 'a task that has ended cannot be subscribed to',
    spec: '1.0 §3.1.6',
    only: { version: '1.0' },
    when: streams,
    async run({ target }) {
      const { id } = sentTask(await target.send('echo done'))
      const stream = await target.open('SubscribeToTask', { id })
      ensure(stream, stream.events === undefined, 'the error UNSUPPORTED_OPERATION', 'a stream')
      expectError(target, stream, 'UNSUPPORTED_OPERATION')
    },
  },
  {
    id: 'subscribe/unknown',
    title: 'an unknown task cannot be subscribed to: it is not found',
    spec: '1.0 §3.1.6',
    only: { version: '1.0' },
    when: streams,
    async run({ target }) {
      const stream = await target.open('SubscribeToTask', { id: UNKNOWN })
      ensure(stream, stream.events === undefined, 'the error TASK_NOT_FOUND', 'a stream')
      expectError(target, stream, 'TASK_NOT_FOUND')
    },
  },
  {
    id: 'subscribe/verbs',
    title: 'a path of subscriptions accepts POST, as the text says, and GET, as the proto says',
    spec: '1.0 §11.3.2, a2a.proto',
    level: 'should',
    only: { binding: 'HTTP+JSON', version: '1.0' },
    when: streams,
    async run({ target }) {
      const { id } = sentTask(await target.send('echo done'))
      for (const method of ['POST', 'GET']) {
        const answer = await ask(`${target.url}/tasks/${id}:subscribe`, { method, headers: target.headers })
        ensure(
          answer,
          answer.status !== 404 && answer.status !== 405,
          'a path that exists',
          describeAnswer(answer),
        )
        expectError(target, { ...answer, ...resultOf(target, answer) }, 'UNSUPPORTED_OPERATION')
      }
    },
  },
  {
    id: 'subscribe/follows',
    title: 'a subscriber hears the answer to a question',
    spec: '1.0 §3.1.6, §3.4.3',
    only: { version: '1.0' },
    when: streams,
    async run({ target }) {
      target.needs('answer')
      const { id } = sentTask(await target.send('ask'))
      const stream = await target.open('SubscribeToTask', { id })
      await nextUpdate(target, stream)
      await target.send('Ada', { taskId: id })
      let last: SseEvent | undefined
      for await (const event of eventsIn(stream)) last = event
      ensure(
        stream,
        last?.data.includes('TASK_STATE_COMPLETED') === true,
        'TASK_STATE_COMPLETED at last',
        last?.text,
      )
    },
  },
]
