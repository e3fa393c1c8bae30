/** Checks of ListTasks, which A2A 1.0 has. */

import type { Check } from '../kit/check.js'
import { ensure, ensureEqual } from '../kit/mismatch.js'
import { expectError, expectResult } from '../kit/answers.js'
import { sentTask } from '../kit/tasks.js'
import type { Called } from '../kit/answers.js'
import type { Params } from '../kit/params.js'
import type { Target } from '../kit/targets.js'
import type { WireBody, WireTask } from '../kit/wire.js'

const spec = '1.0 §3.1.4'
const only = { version: '1.0' }

interface List extends Pick<WireBody, 'nextPageToken' | 'pageSize' | 'totalSize'> {
  readonly answer: Called
  readonly tasks: readonly WireTask[]
  readonly ids: readonly string[]
}

/** Tasks of a new context, the latest last. */
async function makeTasks(
  target: Target,
  count: number,
): Promise<{ readonly contextId: string; readonly ids: string[] }> {
  const first = sentTask(await target.send('echo one'))
  const { contextId } = first
  const ids = [first.id]
  while (ids.length < count) ids.push(sentTask(await target.send('echo more', { contextId })).id)
  return { contextId, ids }
}

async function list(target: Target, filters: Params): Promise<List> {
  const answer = await target.call('ListTasks', filters)
  const { tasks, ...result } = expectResult(answer, 'a list')
  ensure(answer, tasks !== undefined && isList(tasks), 'tasks', answer.text)
  return { answer, ...result, tasks, ids: tasks.map(({ id }) => id) }
}

const isList = (value: unknown): boolean => Array.isArray(value)

export const LIST_CHECKS: readonly Check[] = [
  {
    id: 'list/fields',
    title: 'a list has tasks, nextPageToken, pageSize and totalSize, even if it is empty',
    ...{ spec, only },
    async run({ target }) {
      const { answer, nextPageToken, pageSize, totalSize, tasks } = await list(target, {
        contextId: 'there-is-no-such-context',
      })
      ensureEqual(
        answer,
        'tasks, nextPageToken and totalSize',
        [tasks, nextPageToken, totalSize],
        [[], '', 0],
      )
      ensure(answer, Number.isInteger(pageSize), 'pageSize', answer.text)
    },
  },
  {
    id: 'list/context',
    title: 'a list may be of one context',
    ...{ spec, only },
    async run({ target }) {
      const { contextId, ids } = await makeTasks(target, 3)
      await target.send('echo elsewhere')
      const { answer, ids: found, totalSize } = await list(target, { contextId })
      ensureEqual(answer, 'the ids', found.toSorted(), ids.toSorted())
      ensureEqual(answer, 'totalSize', totalSize, 3)
    },
  },
  {
    id: 'list/order',
    title: 'the task whose status changed last comes first',
    ...{ spec, only },
    async run({ target }) {
      const { contextId } = await makeTasks(target, 3)
      const { answer, tasks } = await list(target, { contextId })
      const times = tasks.map(({ status }) => Date.parse(status.timestamp ?? ''))
      const isOrdered = times.every((time, index) => time <= (times[index - 1] ?? Infinity))
      ensure(answer, isOrdered, 'statuses from the latest to the earliest', times)
    },
  },
  {
    id: 'list/status',
    title: 'a list may be of one state',
    ...{ spec, only },
    async run({ target }) {
      const { contextId, ids } = await makeTasks(target, 1)
      await target.send('fail', { contextId })
      const { answer, ids: found } = await list(target, { contextId, status: 'TASK_STATE_COMPLETED' })
      ensureEqual(answer, 'the ids', found, ids)
    },
  },
  {
    id: 'list/pages',
    title: 'pages together are the list, without gaps or repeats',
    ...{ spec, only },
    async run({ target }) {
      const { contextId, ids } = await makeTasks(target, 5)
      const found: string[] = []
      let pageToken: string | undefined
      for (let pages = 0; pages < 6; pages++) {
        const page = await list(target, { contextId, pageSize: 2, ...(pageToken && { pageToken }) })
        ensure(page.answer, page.ids.length <= 2, 'at most 2 tasks', page.ids)
        ensureEqual(page.answer, 'totalSize', page.totalSize, 5)
        found.push(...page.ids)
        pageToken = page.nextPageToken
        if (pageToken === '') break
      }
      const { answer } = await list(target, { contextId })
      ensureEqual(answer, 'the ids of all pages', found.toSorted(), ids.toSorted())
    },
  },
  {
    id: 'list/page-size',
    title: 'a page has 1 to 100 tasks',
    ...{ spec: '1.0 §3.1.4, §6.5', only },
    async run({ target }) {
      for (const pageSize of [0, -1, 101]) {
        expectError(target, await target.call('ListTasks', { pageSize }), 'INVALID_PARAMS')
      }
    },
  },
  {
    id: 'list/page-token',
    title: 'a page token that the agent did not make is refused',
    ...{ spec, only },
    async run({ target }) {
      expectError(target, await target.call('ListTasks', { pageToken: 'not a token' }), 'INVALID_PARAMS')
    },
  },
  {
    id: 'list/unknown-status',
    title: 'a state that does not exist is refused',
    ...{ spec: '1.0 §3.3.2', only },
    async run({ target }) {
      expectError(target, await target.call('ListTasks', { status: 'TASK_STATE_SLEEPING' }), 'INVALID_PARAMS')
    },
  },
  {
    id: 'list/artifacts',
    title: 'artifacts are listed when they are asked for',
    ...{ spec, only },
    async run({ target }) {
      const { contextId } = await makeTasks(target, 1)
      const without = await list(target, { contextId })
      ensureEqual(without.answer, 'artifacts', without.tasks[0]?.artifacts, undefined)
      const whole = await list(target, { contextId, includeArtifacts: true })
      ensure(whole.answer, whole.tasks[0]?.artifacts?.length === 1, 'one artifact', whole.answer.text)
    },
  },
  {
    id: 'list/since',
    title: 'a list since a time has the tasks of that time',
    ...{ spec, only },
    async run({ target }) {
      const { contextId, ids } = await makeTasks(target, 1)
      const { tasks } = await list(target, { contextId })
      const at = tasks[0]?.status.timestamp ?? ''
      const since = await list(target, { contextId, statusTimestampAfter: at })
      ensureEqual(since.answer, 'the ids', since.ids, ids)
      const later = new Date(Date.parse(at) + 60_000).toISOString()
      ensureEqual(
        since.answer,
        'the later ids',
        (await list(target, { contextId, statusTimestampAfter: later })).ids,
        [],
      )
    },
  },
]
