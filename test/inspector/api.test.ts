/** The API of an inspector, over each kind of manager. */
import { setImmediate as turn } from 'node:timers/promises'
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import type { InspectorAccess, InspectorAudit } from 'a2a-tasks/inspector'
import { ManualClock } from 'a2a-tasks/testing'
import { openTasks } from 'a2a-tasks/stores/sqlite'
import Database from 'libsql'
import { describe, expect, it, vi } from 'vitest'
import { agentOver, entriesOf, MANAGERS, OPEN, READ, Page, talk } from './support/inspected.js'

interface LogEntry {
  readonly entry?: { readonly kind: string; readonly name?: string }
}

interface Row {
  readonly id: string
  readonly state: string
  readonly title: string
}

describe.each(MANAGERS)('over a %s', (name) => {
  it('lists tasks, latest change first, in pages, by state and by text', async () => {
    const agent = await agentOver(name)
    const page = new Page({ ...READ, tasks: agent.tasks })
    for (const text of ['fail', 'one', 'two', 'three']) await talk(agent, text)
    const rows: Row[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { body } = await page.get(`tasks?size=2&cursor=${encodeURIComponent(cursor)}`)
      const { tasks, nextCursor } = body as unknown as { tasks: Row[]; nextCursor?: string }
      rows.push(...tasks)
      cursor = nextCursor
    }
    expect(rows.map(({ id }) => id)).toEqual((await agent.tasks.pageTasks({})).tasks.map(({ id }) => id))
    expect(rows.length).toBe(4)
    expect((await page.get('tasks?state=failed')).body).toMatchObject({ tasks: [{ title: 'fail' }] })
    expect((await page.get('tasks?text=THRE')).body).toMatchObject({ tasks: [{ title: 'three' }] })
    expect((await page.get('counts')).body).toMatchObject({ completed: 3, failed: 1, working: 0 })
  })

  it('lists and counts tasks by skill, context, owner and time', async () => {
    const { tasks } = await agentOver(name)
    for (const word of ['one', 'two']) {
      await tasks.createTask({ id: word, skill: `s-${word}`, contextId: `c-${word}`, owner: `o-${word}` })
    }
    const page = new Page({ ...READ, tasks })
    const future = new Date(Date.now() + 3_600_000).toISOString()
    for (const query of ['skill=s-one', 'context=c-one', 'owner=o-one']) {
      expect((await page.get(`tasks?${query}`)).body).toMatchObject({ tasks: [{ id: 'one' }] })
      expect((await page.get(`counts?${query}`)).body).toMatchObject({ submitted: 1 })
    }
    expect((await page.get(`tasks?since=${future}`)).body).toEqual({ tasks: [] })
    expect((await page.get(`counts?since=${future}`)).body).toMatchObject({ submitted: 0 })
  })

  it('counts the turns that wait and are under way, for people who see all tasks', async () => {
    const { tasks } = await agentOver(name)
    const read = async (access: InspectorAccess): Promise<unknown> =>
      (await new Page({ authorize: () => access, tasks }).get('backlog')).body
    const counted = name === 'TaskManager' ? null : { waiting: 0, oldestMs: 0, busy: 0 }
    expect(await read({})).toEqual(counted)
    expect(await read({ owner: 'ann' })).toBeNull()
  })

  it('streams the tasks that change', async () => {
    const agent = await agentOver(name)
    const page = new Page({ ...READ, tasks: agent.tasks, pollIntervalMs: 10 })
    await talk(agent, 'before')
    const controller = new AbortController()
    const entries = entriesOf(await page.open('changes', {}, controller.signal))
    expect((await entries.next()).value).toEqual({ type: 'resync' })
    const id = await talk(agent, 'after')
    expect((await entries.next()).value).toMatchObject({ type: 'tasks', tasks: [{ id, title: 'after' }] })
    controller.abort()
  })

  it('gives a task with its log, follows it, and shows it as clients see it', async () => {
    const agent = await agentOver(name)
    const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent })
    const id = await talk(agent, 'ask')
    expect((await page.get(`tasks/${id}`)).body).toMatchObject({
      task: { id, state: 'input-required' },
      children: { tasks: [], delegations: [] },
      webhooks: [],
    })
    const { events } = (await page.get(`tasks/${id}/events`)).body as unknown as {
      events: { generation: number; type: string }[]
    }
    expect(events[0]).toMatchObject({ type: 'created', generation: 1 })
    const last = events.length
    const following = entriesOf(await page.open(`tasks/${id}/follow?after=${last}`))
    expect((await page.post('messages', { text: 'red', taskId: id })).body).toMatchObject({ taskId: id })
    const states: unknown[] = []
    for await (const { to } of following) if (to !== undefined) states.push(to)
    expect(states.at(-1)).toBe('completed')
    const v1 = await page.get(`tasks/${id}/wire?version=1.0&generation=1`)
    expect(v1.body).toMatchObject({ task: { status: { state: 'TASK_STATE_SUBMITTED' } } })
    const v0 = await page.get(`tasks/${id}/wire?version=0.3`)
    expect(v0.body).toMatchObject({ task: { kind: 'task', status: { state: 'completed' } } })
    expect((await page.get(`tasks/${id}/wire?version=2.0`)).status).toBe(400)
  })

  it('takes actions that are allowed, each after its audit', async () => {
    const agent = await agentOver(name)
    const audits: InspectorAudit[] = []
    const page = new Page({
      ...OPEN,
      tasks: agent.tasks,
      handler: agent,
      onAction: (audit) => void audits.push(audit),
    })
    const { taskId } = (await page.post('messages', { text: 'wait' })).body as unknown as { taskId: string }
    expect((await page.post(`tasks/${taskId}/cancel`, {})).status).toBe(200)
    expect(await agent.tasks.stateOf(taskId)).toBe('canceled')
    const done = await talk(agent, 'done')
    expect((await page.post(`tasks/${done}/cancel`, {})).status).toBe(409)
    expect(audits.map(({ action }) => action)).toEqual(['send', 'cancel', 'cancel'])
  })

  it('runs a task again as its owner, and cancels all that match', async () => {
    const agent = await agentOver(name)
    const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent })
    const done = await talk(agent, 'done')
    const asked = [await talk(agent, 'ask'), await talk(agent, 'ask')]
    const again = (await page.post(`tasks/${done}/again`, {})).body as unknown as { taskId: string }
    expect(again.taskId).not.toBe(done)
    expect((await agent.tasks.waitFor(again.taskId)).artifacts[0]?.parts).toEqual([{ text: 'echo: done' }])
    expect((await page.post('cancel?text=nothing', {})).body).toEqual({ canceled: 0, hasMore: false })
    expect((await page.post('cancel?text=ask', {})).body).toEqual({ canceled: 2, hasMore: false })
    for (const id of asked) expect(await agent.tasks.stateOf(id)).toBe('canceled')
    expect(await agent.tasks.stateOf(done)).toBe('completed')
  })

  it('forks a task with another answer, and hides tasks that it does not fork', async () => {
    const agent = await agentOver(name)
    const audits: InspectorAudit[] = []
    const onAction = (audit: InspectorAudit): void => void audits.push(audit)
    const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent, onAction })
    const id = await talk(agent, 'ask')
    await page.post('messages', { text: 'red', taskId: id })
    await agent.tasks.waitFor(id)
    const { events } = (await page.get(`tasks/${id}/events`)).body as unknown as { events: LogEntry[] }
    const question = events.findLast((event) => event.entry?.kind === 'answer')?.entry?.name ?? ''
    const forked = await page.post(`tasks/${id}/fork`, { answers: { [question]: 'blue' } })
    const { taskId } = forked.body as unknown as { taskId: string }
    const task = await agent.tasks.waitFor(taskId)
    expect(task.artifacts[0]?.parts).toEqual([{ text: 'chosen: blue' }])
    expect(audits.at(-1)).toMatchObject({ action: 'fork', taskId: id })
    for (const [body, status] of [
      [{ generation: 0 }, 400],
      [{ generation: 10_000 }, 400],
      [{ answers: { other: 'x' } }, 400],
      [{ answers: { [question]: 1 } }, 400],
      [{ answers: ['x'] }, 400],
    ] as const) {
      expect((await page.post(`tasks/${id}/fork`, body)).status, JSON.stringify(body)).toBe(status)
    }
    expect((await page.post('tasks/none/fork', {})).status).toBe(404)
  })

  it('redrives a task that has failed for good, and no other one', async () => {
    const agent = await agentOver(name)
    const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent })
    const done = await talk(agent, 'done')
    expect((await page.post(`tasks/${done}/redrive`, {})).status).toBe(400)
    const failed = await talk(agent, 'fail')
    const redriven = (await page.post(`tasks/${failed}/redrive`, {})).body as unknown as { taskId: string }
    expect((await agent.tasks.waitFor(redriven.taskId)).referenceTaskIds).toEqual([failed])
  })

  it('redrives the dead letters that match, each once', async () => {
    const agent = await agentOver(name)
    const audits: InspectorAudit[] = []
    const onAction = (audit: InspectorAudit): void => void audits.push(audit)
    const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent, onAction })
    const failed = [await talk(agent, 'fail'), await talk(agent, 'fail')]
    await talk(agent, 'done')
    const redriveAll = async (query: string): Promise<unknown> =>
      (await page.post(`redrive${query}`, {})).body
    expect(await redriveAll('?text=nothing')).toEqual({ redriven: 0, refused: 0, hasMore: false })
    expect(await redriveAll('?state=completed')).toEqual({ redriven: 0, refused: 0, hasMore: false })
    expect(await redriveAll('?owner=bob')).toEqual({ redriven: 0, refused: 0, hasMore: false })
    expect(audits).toEqual([])
    expect(await redriveAll('?text=FAIL&state=failed')).toEqual({ redriven: 2, refused: 0, hasMore: false })
    expect(audits.map(({ action, taskId }) => [action, taskId]).toSorted()).toEqual(
      failed.map((id) => ['redrive', id]).toSorted(),
    )
    const { tasks } = await agent.tasks.pageTasks({})
    const continued = tasks.flatMap(({ referenceTaskIds = [] }) => referenceTaskIds)
    expect(continued.toSorted()).toEqual(failed.toSorted())
    for (const { id } of tasks) await agent.tasks.waitFor(id)
  })

  it('hides the skill of a task that began with a message, which names none', async () => {
    const agent = await agentOver(name)
    const page = new Page({ ...READ, tasks: agent.tasks })
    await talk(agent, 'one')
    const { id } = await agent.tasks.createTask({ skill: 'book', input: 'two' })
    expect((await page.get('tasks?text=two')).body).toMatchObject({ tasks: [{ id, isSkillStated: true }] })
    expect((await page.get('tasks?text=one')).body).toMatchObject({ tasks: [{ isSkillStated: false }] })
    expect((await page.get('tasks?text=default')).body).toEqual({ tasks: [] })
  })

  it('shows the stacks of errors only where the access says so', async () => {
    const agent = await agentOver(name)
    const id = await talk(agent, 'fail')
    const seen = async (access: InspectorAccess): Promise<string> => {
      const page = new Page({ authorize: () => access, tasks: agent.tasks })
      const following: unknown[] = []
      for await (const entry of entriesOf(await page.open(`tasks/${id}/follow?after=0`)))
        following.push(entry)
      const paths = [`tasks/${id}`, `tasks/${id}/events`, `tasks/${id}/wire`, 'tasks']
      const bodies = await Promise.all(paths.map(async (path) => (await page.get(path)).body))
      return JSON.stringify([bodies, following])
    }
    for (const access of [{}, { stacks: false }, { owner: null }]) {
      const text = await seen(access)
      expect(text).toContain('it failed')
      expect(text).not.toMatch(/"stack"|inspected\.ts/)
    }
    expect(await seen({ stacks: true })).toMatch(/"stack":"Error: it failed\\n +at .*inspected\.ts/)
  })

  it('takes no action that is not allowed, or whose audit fails', async () => {
    const agent = await agentOver(name)
    const id = await talk(agent, 'ask')
    await talk(agent, 'fail')
    const options = { authorize: () => ({}), tasks: agent.tasks, handler: agent, onError: () => undefined }
    const onAction = (): void => {
      throw new Error('no audit')
    }
    for (const [page, status] of [
      [new Page(options), 403],
      [
        new Page({ ...options, actions: ['cancel'], authorize: () => ({ actions: ['answer'] as const }) }),
        403,
      ],
      [new Page({ ...options, actions: true, onAction }), 500],
    ] as const) {
      expect((await page.post(`tasks/${id}/cancel`, {})).status).toBe(status)
      expect((await page.post('messages', { text: 'x', taskId: id })).status).toBe(status)
      expect((await page.post('cancel', {})).status).toBe(status)
      expect((await page.post('redrive', {})).status).toBe(status)
      expect((await page.post(`tasks/${id}/again`, {})).status).toBe(status)
      expect((await page.post(`tasks/${id}/fork`, {})).status).toBe(status)
      expect((await page.post(`tasks/${id}/redrive`, {})).status).toBe(status)
    }
    expect(await agent.tasks.stateOf(id)).toBe('input-required')
  })
})

describe.each(['TaskManager', 'DurableTaskManager'])('by the feed of a %s', (kind) => {
  it('the changes of a page are those of its owner, removals included', async () => {
    const clock = new ManualClock()
    const tasks =
      kind === 'TaskManager'
        ? new TaskManager({ feedSize: 100, clock, expiryMs: 50_000 })
        : await openTasks(new Database(':memory:'), { feedSize: 100 })
    const reads = vi.spyOn(tasks, 'pageTasks')
    const page = new Page({ authorize: () => ({ owner: 'ann' }), tasks, pollIntervalMs: 10 })
    const controller = new AbortController()
    const entries = entriesOf(await page.open('changes', {}, controller.signal))
    expect((await entries.next()).value).toEqual({ type: 'resync' })
    await tasks.createTask({ skill: 'hidden', owner: 'bob' })
    const { id } = await tasks.createTask({ skill: 'seen', owner: 'ann' })
    await tasks.updateTask(id, { state: 'working' })
    expect((await entries.next()).value).toMatchObject({
      type: 'tasks',
      tasks: [{ id, state: 'working' }],
      removed: [],
    })
    // Several changes were one look, and without changes there is none.
    expect(reads).toHaveBeenCalledTimes(1)
    if (kind === 'TaskManager') {
      clock.advance(60_000)
      await tasks.prune()
      expect((await entries.next()).value).toMatchObject({ type: 'tasks', tasks: [], removed: [id] })
    }
    controller.abort()
    await tasks.destroy()
  })

  it('more changes than a page takes are a resync', async () => {
    const tasks =
      kind === 'TaskManager'
        ? new TaskManager({ feedSize: 10_000 })
        : await openTasks(new Database(':memory:'), { feedSize: 10_000 })
    const page = new Page({ ...READ, tasks })
    const controller = new AbortController()
    const entries = entriesOf(await page.open('changes', {}, controller.signal))
    expect((await entries.next()).value).toEqual({ type: 'resync' })
    for (let count = 0; count < 600; count += 1) await tasks.createTask({ skill: 'many' })
    const seen: unknown[] = []
    for (let count = 0; count < 600;) {
      const value = (await entries.next()).value as { type?: string; tasks?: unknown[] }
      seen.push(value)
      count += value.tasks?.length ?? 600
    }
    expect(kind === 'TaskManager' ? seen : [{ type: 'resync' }]).toEqual([{ type: 'resync' }])
    controller.abort()
    await tasks.destroy()
  })
})

it.each(MANAGERS)('lists the tasks of a %s by either spelling of canceled', async (name) => {
  const { tasks } = await agentOver(name)
  const { id } = await tasks.createTask({ skill: 'test' })
  await tasks.cancelTask(id)
  const page = new Page({ ...READ, tasks })
  for (const state of ['canceled', 'cancelled']) {
    expect((await page.get(`tasks?state=${state}`)).body).toMatchObject({ tasks: [{ id }] })
  }
})

describe('hostile parameters', () => {
  it.each([
    ['tasks?size=0', 400],
    ['tasks?size=1e9', 400],
    ['tasks?state=constructor', 400],
    ['tasks?cursor=%00', 400],
    ['tasks?since=yesterday', 400],
    [`tasks?text=${'x'.repeat(2_000)}`, 400],
    ['tasks/%E0%A4%A', 404],
    ['tasks/__proto__', 404],
    ['tasks/a/../../session', 200],
    ['tasks/a/b/c', 404],
    ['secrets', 404],
  ])('%s gets %i', async (path, status) => {
    const agent = await agentOver('TaskManager')
    expect((await new Page({ ...READ, tasks: agent.tasks }).get(path)).status).toBe(status)
  })

  it.each([
    ['{', 400],
    ['[]', 400],
    ['{"text":1}', 400],
    ['{"text":""}', 400],
    ['{"data":[]}', 400],
    ['{"data":"x"}', 400],
    [JSON.stringify({ text: 'x'.repeat(40_000) }), 400],
    ['{"text":"x","taskId":"none"}', 404],
  ])('the body %s gets %i', async (body, status) => {
    const agent = await agentOver('TaskManager')
    const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent })
    expect((await page.post('messages', body)).status).toBe(status)
  })

  it('a body that is larger than those of the handler gets 413', async () => {
    const agent = await agentOver('TaskManager')
    const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent })
    expect((await page.post('messages', { text: 'x'.repeat(4_200_000) })).status).toBe(413)
  })
})

describe('a body', () => {
  const chunksOf = (text: string): ReadableStream<Uint8Array> => {
    const bytes = new TextEncoder().encode(text)
    let at = 0
    return new ReadableStream({
      pull(controller) {
        if (at < bytes.length) controller.enqueue(bytes.subarray(at, (at += 1)))
        else controller.close()
      },
    })
  }

  it('is read in chunks of one byte, which may split a character', async () => {
    const agent = await agentOver('TaskManager')
    const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent })
    const { status } = await page.post('messages', chunksOf(JSON.stringify({ text: 'für 日本' })))
    expect(status).toBe(200)
    expect((await agent.tasks.listTasks()).at(-1)?.messages[0]?.parts).toEqual([{ text: 'für 日本' }])
  })

  it('that is not complete after 30 seconds gets 408', async () => {
    const clock = new ManualClock()
    const agent = await agentOver('TaskManager')
    const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent, clock })
    const answer = page.post('messages', new ReadableStream())
    for (let turns = 0; clock.pending === 0 && turns < 100; turns++) await turn()
    clock.advance(29_999)
    expect(clock.pending).toBe(1)
    clock.advance(1)
    expect((await answer).status).toBe(408)
  })
})

it('follows what another process does to a shared store', async () => {
  const database = new Database(':memory:')
  const [writer, reader] = [await openTasks(database), await openTasks(database)]
  const page = new Page({ ...READ, tasks: reader, pollIntervalMs: 10 })
  const { id } = await writer.createTask({ skill: 'shared' })
  const controller = new AbortController()
  const changes = entriesOf(await page.open('changes', {}, controller.signal))
  expect((await changes.next()).value).toEqual({ type: 'resync' })
  const following = entriesOf(await page.open(`tasks/${id}/follow?after=1`))
  await writer.updateTask(id, { state: 'working' })
  expect((await changes.next()).value).toMatchObject({ tasks: [{ id, state: 'working' }] })
  expect((await following.next()).value).toMatchObject({ type: 'status', to: 'working', generation: 2 })
  await writer.updateTask(id, { state: 'completed' })
  expect((await following.next()).value).toMatchObject({ to: 'completed', generation: 3 })
  expect((await following.next()).done).toBe(true)
  controller.abort()
  await Promise.all([writer.destroy(), reader.destroy()])
  database.close()
})

it('shows what clients stumble on in the card of the handler', async () => {
  const agent = await agentOver('TaskManager')
  const page = new Page({ ...OPEN, tasks: agent.tasks, handler: agent })
  expect((await page.get('problems')).body).toContainEqual(expect.objectContaining({ path: 'skills' }))
})

it('shows the tasks of a remote agent by a client', async () => {
  const agent = await agentOver('TaskManager')
  const client = new A2AClient({
    card: agent.card,
    fetch: (url, init) => agent.fetch(new Request(url, init)),
  })
  const page = new Page({ ...OPEN, client })
  const { taskId } = (await page.post('messages', { text: 'ask' })).body as unknown as { taskId: string }
  const following = entriesOf(await page.open(`tasks/${taskId}/follow?after=0`))
  expect((await following.next()).value).toMatchObject({ type: 'snapshot', generation: 1 })
  expect((await page.get('tasks')).body).toMatchObject({ tasks: [{ id: taskId }] })
  expect((await page.get('session')).body).toMatchObject({
    agent: 'Echo',
    actions: ['send', 'answer', 'cancel'],
  })
})

it('links to the trace of a task, by http alone', async () => {
  const agent = await agentOver('TaskManager')
  const id = await talk(agent, 'traced')
  const errors: unknown[] = []
  const linkOf = async (traceUrl: (task: { id: string }) => string | undefined): Promise<unknown> => {
    const onError = (error: unknown): void => void errors.push(error)
    const { status, body } = await new Page({ ...READ, tasks: agent.tasks, traceUrl, onError }).get(
      `tasks/${id}`,
    )
    return [status, (body as { traceUrl?: unknown }).traceUrl]
  }
  expect(await linkOf((task) => `https://traces.test/?q=${task.id}`)).toEqual([
    200,
    `https://traces.test/?q=${id}`,
  ])
  expect(await linkOf(() => undefined)).toEqual([200, null])
  expect(errors).toEqual([])
  expect(await linkOf(() => 'javascript:alert(1)')).toEqual([200, null])
  expect(await linkOf(() => 'no url')).toEqual([200, null])
  expect(errors).toHaveLength(2)
})
