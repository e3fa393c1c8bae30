/** Checks of SendStreamingMessage and of its events. */

import type { CardContext, Check } from '../kit/check.js'
import { eventsIn, parse } from '../kit/http.js'
import { ensure, ensureEqual } from '../kit/mismatch.js'
import { ERRORS } from '../kit/answers.js'
import {
  artifactsOf,
  expectState,
  isTerminal,
  nextUpdate,
  plainTask,
  updateOf,
  updatesOf,
  type Update,
} from '../kit/tasks.js'

const STREAM = { '1.0': '§3.1.2', 0.3: '§7.2' }
const ORDER = { '1.0': '§3.5.2', 0.3: '§3.3' }
const FORMAT = { '1.0': '§9.4.2, §11.7', 0.3: '§3.3.1, §3.3.3' }
const when = ({ card }: CardContext): boolean => card.capabilities?.streaming === true

/** How far a task is. Updates of a stream do not go back (§4.1.3). */
const rankOf = ({ state }: Pick<Update, 'state'>): number =>
  state === 'submitted' ? 0 : isTerminal({ ...(state !== undefined && { state }) }) ? 2 : 1

export const STREAM_CHECKS: readonly Check[] = [
  {
    id: 'stream/headers',
    title: 'a stream is HTTP 200 and text/event-stream',
    ...{ spec: FORMAT, when },
    async run({ target }) {
      const stream = await target.stream('stream')
      const updates = await updatesOf(target, stream)
      ensureEqual(stream, 'the status', stream.status, 200)
      ensure(stream, updates.length > 0, 'events', 'none')
    },
  },
  {
    id: 'stream/events',
    title: 'each event is one object of JSON, in the envelope of the binding',
    ...{ spec: FORMAT, when },
    async run({ target }) {
      const stream = await target.stream('stream')
      for await (const event of eventsIn(stream)) {
        const json = parse(event.data)
        ensure(stream, typeof json === 'object' && json !== null, 'an object of JSON', event.text)
        if (target.isJsonRpc) {
          ensureEqual(stream, 'jsonrpc and id', [json.jsonrpc, json.id], ['2.0', 'check'])
          ensure(stream, json.result !== undefined && json.error === undefined, 'a result', event.text)
        }
        ensureEqual(stream, 'the type of the event', event.type, 'message')
        const names = ['task', 'message', 'statusUpdate', 'artifactUpdate']
        const value = target.isJsonRpc ? json.result : json
        const isByKind = target.isJsonRpc && !target.isModern
        const count = isByKind
          ? Number(typeof value?.kind === 'string')
          : names.filter((name) => value != null && name in value).length
        ensure(stream, count === 1, isByKind ? 'a kind' : `one of ${names.join(', ')}`, event.text)
      }
    },
  },
  {
    id: 'stream/task-first',
    title: 'a stream begins with the task',
    ...{ spec: STREAM, when },
    async run({ target }) {
      const stream = await target.stream('stream')
      const [first] = await updatesOf(target, stream)
      ensureEqual(stream, 'the first event', first?.kind, 'task')
    },
  },
  {
    id: 'stream/one-task',
    title: 'all updates are of the task that the stream began with',
    ...{ spec: STREAM, when },
    async run({ target }) {
      const stream = await target.stream('stream')
      const [first, ...rest] = await updatesOf(target, stream)
      for (const { taskId, contextId, event } of rest) {
        const isSame = taskId === first?.id && contextId === first?.contextId
        ensure(
          stream,
          isSame,
          `taskId ${String(first?.id)} and contextId ${String(first?.contextId)}`,
          event.text,
        )
      }
    },
  },
  {
    id: 'stream/order',
    title: 'states do not go back, and the last one is terminal',
    ...{ spec: ORDER, when },
    async run({ target }) {
      const stream = await target.stream('stream')
      const updates = await updatesOf(target, stream)
      const states = updates.filter(({ kind }) => kind === 'task' || kind === 'status')
      const ranks = states.map(rankOf)
      const goesBack = ranks.some((rank, index) => rank < (ranks[index - 1] ?? rank))
      const names = states.map(({ state }) => state).join(', ')
      ensure(stream, !goesBack, 'states in the order of the lifecycle', names)
      ensure(stream, states.at(-1)?.state === 'completed', 'completed at last', names)
    },
  },
  {
    id: 'stream/ends',
    title: 'nothing follows the state that is terminal',
    ...{ spec: { '1.0': '§3.1.2, §11.7', 0.3: '§3.3' }, when },
    async run({ target }) {
      const stream = await target.stream('stream')
      const updates = await updatesOf(target, stream)
      const end = updates.findIndex((update) => 'state' in update && isTerminal(update))
      // A server may send the whole task again before it closes (§11.7).
      const rest = updates.slice(end + 1).filter(({ kind }) => kind !== 'task')
      ensure(stream, rest.length === 0, 'the end of the stream', rest[0]?.event.text)
    },
  },
  {
    id: 'stream/artifacts',
    title: 'the chunks of a stream are the artifacts of the task',
    ...{ spec: { '1.0': '§4.2.2', 0.3: '§7.2.3' }, when },
    async run({ target }) {
      const stream = await target.stream('stream')
      const updates = await updatesOf(target, stream)
      target.needs('chunks')
      ensure(
        stream,
        updates.filter(({ kind }) => kind === 'artifact').length >= 2,
        'two chunks or more',
        'fewer',
      )
      const answer = await target.call('GetTask', { id: updates[0]?.id })
      const stored = plainTask(answer).artifacts.map(({ text }) => text)
      ensureEqual(answer, 'the texts of the artifacts', stored, artifactsOf(updates))
    },
  },
  {
    id: 'stream/message',
    title: 'a stream may be one message, and ends with it',
    ...{ spec: STREAM, when },
    async run({ target }) {
      const stream = await target.stream('reply')
      const kinds = (await updatesOf(target, stream)).map(({ kind }) => kind)
      ensureEqual(stream, 'the events', kinds, ['message'])
    },
  },
  {
    id: 'stream/question',
    title: 'a stream tells the question of a task',
    ...{ spec: { '1.0': '§3.4.3', 0.3: '§9.4' }, when },
    async run({ target }) {
      const stream = await target.stream('ask')
      const { id } = await nextUpdate(target, stream)
      for await (const event of eventsIn(stream)) {
        if (updateOf(target, stream, event).state === 'input-required') break
      }
      const answer = await target.call('GetTask', { id })
      expectState(answer, plainTask(answer), 'input-required')
      await target.call('CancelTask', { id })
    },
  },
  {
    id: 'stream/abandoned',
    title: 'a task continues when its client disconnects',
    ...{ spec: { '1.0': '§3.1.6', 0.3: '§7.9' }, when },
    async run({ target }) {
      const stream = await target.stream('wait')
      const { id } = await nextUpdate(target, stream)
      stream.close()
      const answer = await target.call('GetTask', { id })
      expectState(answer, plainTask(answer), 'submitted', 'working')
      await target.call('CancelTask', { id })
    },
  },
  {
    id: 'stream/error',
    title: 'a message that is refused has an error, and no empty stream',
    ...{ spec: { '1.0': '§3.3.2, §9.4.2', 0.3: '§8.2' }, when },
    async run({ target }) {
      const stream = await target.stream('echo', { taskId: 'there-is-no-such-task' })
      if (stream.events === undefined) {
        const isError = target.isJsonRpc
          ? stream.error?.code === ERRORS.TASK_NOT_FOUND.code
          : stream.status === 404
        ensure(stream, isError, 'the error TASK_NOT_FOUND', `HTTP ${stream.status} ${stream.text}`)
        return
      }
      const { value } = await stream.events.next()
      const json = parse(value?.data ?? '')
      ensure(
        stream,
        json?.error !== undefined || json?.code !== undefined,
        'an error in the first event',
        value?.text,
      )
    },
  },
  {
    id: 'stream/kinds',
    title: 'updates of 0.3 have a kind, and the last one is final',
    ...{ spec: '0.3 §7.2.2', only: { version: '0.3', binding: 'JSONRPC' }, when },
    async run({ target }) {
      const stream = await target.stream('stream')
      const updates = await updatesOf(target, stream)
      const finals = updates.filter(({ kind }) => kind === 'status').map(({ final }) => final)
      ensure(
        stream,
        finals.every((final) => typeof final === 'boolean'),
        'final in each status update',
        finals,
      )
      ensureEqual(stream, 'final of the last status update', finals.at(-1), true)
    },
  },
  {
    id: 'stream/no-kinds',
    title: 'updates of 1.0 have neither a kind nor final',
    ...{ spec: '1.0 A.2.1', only: { version: '1.0' }, when },
    async run({ target }) {
      const stream = await target.stream('stream')
      for (const { event } of await updatesOf(target, stream)) {
        ensure(stream, !/"(kind|final)":/.test(event.data), 'neither kind nor final', event.data)
      }
    },
  },
  {
    id: 'stream/not-offered',
    title: 'an agent without streams refuses them',
    spec: { '1.0': '§3.3.4', 0.3: '§5.5.2' },
    when: (context) => !when(context),
    async run({ target }) {
      const stream = await target.stream('stream')
      const isRefused = stream.events === undefined && stream.error !== undefined
      ensure(stream, isRefused, 'the error UNSUPPORTED_OPERATION', `HTTP ${stream.status} ${stream.text}`)
    },
  },
]
