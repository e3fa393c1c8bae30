/** Checks of SendMessage. */

import type { Check } from '../kit/check.js'
import { randomUUID } from 'node:crypto'
import { ensure, ensureEqual } from '../kit/mismatch.js'
import { expectError } from '../kit/answers.js'
import { expectState, isTerminal, plainTask, sentMessage, sentTask } from '../kit/tasks.js'
import type { Params, SentMessage } from '../kit/params.js'

const SEND = { '1.0': '§3.1.1', 0.3: '§7.1' }
const UNKNOWN = 'there-is-no-such-task'
const TEXT = 'naïve 日本語 👩‍🚀 "quoted" \\ /'

/** A check that a message is refused for what is wrong in it. `wrong` changes a message of A2A 1.0. */
function refused(id: string, title: string, wrong: (message: SentMessage) => Params): Check {
  return {
    ...{ id: `message/${id}`, title, spec: { '1.0': '§3.3.2, §4.1.4', 0.3: '§6.4' } },
    async run({ target }) {
      const answer = await target.call('SendMessage', wrong(target.message('echo wrong')))
      expectError(
        target,
        answer,
        'INVALID_PARAMS',
        ...(target.isModern ? [] : (['INVALID_REQUEST'] as const)),
      )
    },
  }
}

export const MESSAGE_CHECKS: readonly Check[] = [
  {
    id: 'message/echo',
    title: 'a message is answered with the task when it has completed',
    spec: { '1.0': '§3.1.1, §3.2.2', 0.3: '§7.1' },
    async run({ target }) {
      const answer = await target.send('echo hello')
      const task = sentTask(answer)
      expectState(answer, task, 'completed')
      target.needs('text')
      ensure(answer, task.text.includes('hello'), 'an artifact with the text "hello"', task.text)
      const isArtifact = task.artifacts.every(({ id }) => typeof id === 'string' && id !== '')
      ensure(answer, isArtifact, 'an artifactId in each artifact', answer.text)
    },
  },
  {
    id: 'message/ids',
    title: 'each new task has an id of its own, and a context',
    spec: { '1.0': '§3.4.1, §3.4.2', 0.3: '§6.1' },
    async run({ target }) {
      const one = sentTask(await target.send('echo one'))
      const answer = await target.send('echo two')
      const two = sentTask(answer)
      ensure(answer, one.id !== two.id, 'a new id', two.id)
      const hasContext = [one, two].every(
        ({ contextId }) => typeof contextId === 'string' && contextId !== '',
      )
      ensure(answer, hasContext, 'a contextId', answer.text)
    },
  },
  {
    id: 'message/context',
    title: 'a new task joins the context that its message names',
    spec: { '1.0': '§3.4.1', 0.3: '§6.4' },
    async run({ target }) {
      const first = sentTask(await target.send('echo one'))
      const answer = await target.send('echo two', { contextId: first.contextId })
      const second = sentTask(answer)
      ensureEqual(answer, 'contextId', second.contextId, first.contextId)
      ensure(answer, second.id !== first.id, 'a new task', second.id)
    },
  },
  {
    id: 'message/unicode',
    title: 'texts come back as they were sent',
    spec: { '1.0': '§9.1, RFC 8259 §8.1', 0.3: '§3.2.1' },
    async run({ target }) {
      const answer = await target.send(`echo ${TEXT}`)
      const { text } = sentTask(answer)
      target.needs('text')
      ensure(answer, text.includes(TEXT), `a text with ${TEXT}`, text)
    },
  },
  {
    id: 'message/return-immediately',
    title: 'a client that does not wait has the task while it runs',
    spec: { '1.0': '§3.2.2', 0.3: '§7.1.1' },
    async run({ target }) {
      const answer = await target.send('wait', { configuration: { returnImmediately: true } })
      const task = sentTask(answer)
      expectState(answer, task, 'submitted', 'working')
      expectState(answer, plainTask(await target.call('GetTask', { id: task.id })), 'submitted', 'working')
      await target.call('CancelTask', { id: task.id })
    },
  },
  {
    id: 'message/history-length',
    title: 'a client that asks for no history gets none',
    spec: { '1.0': '§3.2.4', 0.3: '§7.1.1' },
    // In ProtoJSON of 0.3, 0 stands for a history without limit.
    when: ({ target }) => target.isModern || target.isJsonRpc,
    async run({ target }) {
      const answer = await target.send('echo history', { configuration: { historyLength: 0 } })
      ensureEqual(answer, 'the history', sentTask(answer).history, [])
    },
  },
  {
    id: 'message/reply',
    title: 'an agent may answer with a message and no task',
    spec: SEND,
    async run({ target }) {
      const answer = await target.send('reply')
      const message = sentMessage(answer)
      ensure(
        answer,
        message.text !== '' && typeof message.messageId === 'string',
        'a messageId and a text',
        message,
      )
    },
  },
  {
    id: 'message/fail',
    title: 'a task whose agent fails has failed, and shows no stack',
    spec: { '1.0': '§4.1.3, §13.4', 0.3: '§6.3' },
    async run({ target }) {
      const answer = await target.send('fail')
      expectState(answer, sentTask(answer), 'failed')
      ensure(answer, !/\bat .+:\d+:\d+|node:internal/.test(answer.text), 'no stack', answer.text)
    },
  },
  {
    id: 'message/question',
    title: 'a task asks, and the next message of the task answers',
    spec: { '1.0': '§3.4.3', 0.3: '§9.4' },
    async run({ target }) {
      const asked = await target.send('ask')
      const question = sentTask(asked)
      expectState(asked, question, 'input-required')
      ensure(asked, question.message !== '', 'a question in the message of the status', asked.text)
      target.needs('answer')
      const answer = await target.send('Ada', { taskId: question.id, contextId: question.contextId })
      const task = sentTask(answer)
      expectState(answer, task, 'completed')
      ensureEqual(answer, 'the ids', [task.id, task.contextId], [question.id, question.contextId])
      target.needs('text')
      ensure(answer, task.text.includes('Ada'), 'an artifact with the text "Ada"', task.text)
    },
  },
  {
    id: 'message/inferred-context',
    title: 'a message of a task need not name its context',
    spec: { '1.0': '§3.4.3', 0.3: '§9.4' },
    async run({ target }) {
      const question = sentTask(await target.send('ask'))
      const answer = await target.send('Ada', { taskId: question.id })
      ensureEqual(answer, 'contextId', sentTask(answer).contextId, question.contextId)
    },
  },
  {
    id: 'message/other-context',
    title: 'a message whose context is not that of its task is refused',
    spec: '1.0 §3.4.3',
    only: { version: '1.0' },
    async run({ target }) {
      const { id: taskId } = sentTask(await target.send('ask'))
      const answer = await target.send('Ada', { taskId, contextId: randomUUID() })
      expectError(target, answer, 'INVALID_PARAMS')
      await target.call('CancelTask', { id: taskId })
    },
  },
  {
    id: 'message/unknown-task',
    title: 'a message of an unknown task is refused',
    spec: { '1.0': '§3.4.2', 0.3: '§8.2' },
    async run({ target }) {
      expectError(target, await target.send('echo', { taskId: UNKNOWN }), 'TASK_NOT_FOUND')
    },
  },
  {
    id: 'message/ended-task',
    title: 'a task that has ended takes no messages',
    spec: { '1.0': '§3.1.1', 0.3: '§6.1' },
    async run({ target }) {
      const { id: taskId, contextId } = sentTask(await target.send('echo done'))
      const answer = await target.send('echo more', { taskId, contextId })
      // 0.3 names no error for it.
      expectError(
        target,
        answer,
        'UNSUPPORTED_OPERATION',
        ...(target.isModern ? [] : (['INVALID_REQUEST', 'INVALID_PARAMS'] as const)),
      )
    },
  },
  refused('no-message', 'a request needs a message', () => ({})),
  refused('no-id', 'a message needs a messageId', (message) => ({
    message: { ...message, messageId: undefined },
  })),
  refused('no-parts', 'a message needs parts', (message) => ({ message: { ...message, parts: [] } })),
  refused('other-parts', 'parts are a list', (message) => ({ message: { ...message, parts: 'hello' } })),
  refused('empty-part', 'a part has content', (message) => ({ message: { ...message, parts: [{}] } })),
  refused('other-role', 'a role is one of two', (message) => ({
    message: { ...message, role: 'ROLE_KING' },
  })),
  {
    id: 'message/unknown-fields',
    title: 'fields that the agent does not know change nothing',
    spec: '1.0 §5.7',
    level: 'should',
    only: { version: '1.0' },
    async run({ target }) {
      const message = {
        ...target.message('echo more'),
        favourite: 1,
        parts: [{ text: 'echo more', shade: 'red' }],
      }
      const answer = await target.call('SendMessage', { message, season: 'spring' })
      expectState(answer, sentTask(answer), 'completed')
    },
  },
  {
    id: 'message/form',
    title: 'a task has the names of its version: states, and kinds in 0.3 alone',
    spec: { '1.0': '§5.5, A.2.1', 0.3: '§6.1, §6.3' },
    async run({ target }) {
      const answer = await target.send('echo form')
      const { raw } = sentTask(answer)
      const isByKind = target.isJsonRpc && !target.isModern
      ensureEqual(answer, 'the state', raw.status.state, isByKind ? 'completed' : 'TASK_STATE_COMPLETED')
      ensureEqual(answer, 'kind', raw.kind, isByKind ? 'task' : undefined)
      ensure(answer, isByKind || !/"kind":/.test(answer.text), 'no "kind"', answer.text)
    },
  },
  {
    id: 'message/timestamp',
    title: 'the time of a status is ISO 8601 in UTC',
    spec: '1.0 §5.6.1',
    only: { version: '1.0' },
    async run({ target }) {
      const answer = await target.send('echo time')
      const { timestamp } = sentTask(answer).raw.status
      const isRight = timestamp === undefined || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(timestamp)
      ensure(answer, isRight, 'YYYY-MM-DDTHH:mm:ss.sssZ', timestamp)
    },
  },
  {
    id: 'message/terminal-at-once',
    title: 'a task that has ended does not change',
    spec: { '1.0': '§3.1.1', 0.3: '§6.1' },
    async run({ target }) {
      const answer = await target.send('echo end')
      const task = sentTask(answer)
      ensure(answer, isTerminal(task), 'a state that is terminal', task.state)
      await target.send('echo again', { taskId: task.id })
      await target.call('CancelTask', { id: task.id })
      const found = await target.call('GetTask', { id: task.id })
      ensureEqual(found, 'the status', plainTask(found).raw.status, task.raw.status)
    },
  },
]
