/** Ended tasks to files and back: what is removed is written, and what is written can be read. */
import Database from 'libsql'
import { expect, test } from 'vitest'
import { restoreTasks } from 'a2a-tasks'
import { memoryStore, restoreArchive, type ArchiveOptions } from 'a2a-tasks/durable'
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import { logOf, rejection, replicas, says, type Replicas } from './support/durable.js'

const DAY = 86_400_000

async function ended(
  tasks: Replicas['a'],
  id: string,
  state: 'completed' | 'failed' = 'completed',
): Promise<void> {
  await tasks.createTask({ skill: 'test', id, input: { text: 'line\nbreak' } })
  await tasks.addMessage(id, says('hello'))
  await tasks.updateTask(id, { state: 'working' })
  await tasks.updateTask(id, { state, output: id })
}

async function idsOf(tasks: Replicas['a']): Promise<string[]> {
  return (await tasks.listTasks()).map(({ id }) => id)
}

function idOf(line: string): string {
  // Every line is of this form.
  return (JSON.parse(line) as { readonly task: { readonly id: string } }).task.id
}

test('archives tasks by the age of their end, oldest first, and removes them', async () => {
  const { a, b, clock } = replicas(2)
  const expired: string[] = []
  a.on('task:expired', ({ id }) => expired.push(id))
  for (let index = 0; index < 130; index += 1) {
    await ended(a, `old ${index}`)
    clock.advance(1)
  }
  await ended(b, 'old failed', 'failed')
  await a.createTask({ skill: 'test', id: 'live' })
  clock.advance(DAY)
  await ended(a, 'young')
  clock.advance(DAY)
  const lines: string[] = []
  const write = (line: string): void => void lines.push(line)
  expect(await a.archive({ olderThanMs: 1.5 * DAY, write })).toBe(131)
  expect(lines.map(idOf)).toEqual([
    ...Array.from({ length: 130 }, (_, index) => `old ${index}`),
    'old failed',
  ])
  expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true)
  expect(expired.toSorted()).toEqual(lines.map(idOf).toSorted())
  expect(await idsOf(b)).toEqual(['live', 'young'])
  expect(await b.getTask('old 1')).toBeNull()
  expect(await a.archive({ olderThanMs: 1.5 * DAY, write })).toBe(0)
})

test.each([
  ['memory', () => memoryStore()],
  [
    'SQLite',
    async () => {
      const store = sqliteStore(new Database(':memory:'))
      await store.migrate()
      return store
    },
  ],
])('tasks of an archive can be read from a store in %s, with their logs', async (_, open) => {
  const { a, store, clock } = replicas(1)
  for (const id of ['x', 'y']) await ended(a, id)
  const [tasks, logs] = [await a.listTasks(), await Promise.all(['x', 'y'].map((id) => logOf(store, id)))]
  clock.advance(1)
  const lines: string[] = []
  await a.archive({ olderThanMs: 0, write: (line) => void lines.push(line) })

  const opened = await open()
  expect(await restoreArchive(opened, [...lines, '\n', ''])).toBe(2)
  expect(await restoreArchive(opened, lines)).toBe(0)
  const { a: reader } = replicas(1, { store: opened, retention: false, sweepIntervalMs: false })
  expect(await reader.listTasks()).toEqual(tasks)
  expect(await Promise.all(['x', 'y'].map((id) => reader.events(id)))).toEqual(logs)
})

test('a task that was restored, and whose log begins later, is archived with what there is', async () => {
  const { a, clock } = replicas(1)
  const [createdAt, updatedAt] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.000Z']
  await restoreTasks(a, [{ id: 'x', skill: 'test', state: 'working', generation: 7, createdAt, updatedAt }])
  await a.updateTask('x', { state: 'completed' })
  const task = await a.getTask('x')
  clock.advance(1)
  const lines: string[] = []
  await a.archive({ olderThanMs: 0, write: (line) => void lines.push(line) })
  const opened = memoryStore()
  expect(await restoreArchive(opened, lines)).toBe(1)
  const { a: reader } = replicas(1, { store: opened, retention: false, sweepIntervalMs: false })
  expect(await reader.getTask('x')).toEqual(task)
})

test('a task whose line is not written stays, and so do those after it', async () => {
  const { a, clock } = replicas(1)
  for (const id of ['x', 'y', 'z']) {
    await ended(a, id)
    clock.advance(1)
  }
  const lines: string[] = []
  const write = async (line: string): Promise<void> => {
    await Promise.resolve()
    if (idOf(line) === 'y') throw new Error('The disk is full')
    lines.push(line)
  }
  expect(await rejection(a.archive({ olderThanMs: 0, write }))).toMatchObject({ message: 'The disk is full' })
  expect(lines.map(idOf)).toEqual(['x'])
  expect(await idsOf(a)).toEqual(['y', 'z'])
})

test.each([
  ['no JSON', 'lines[1]'],
  ['[]', 'lines[1]'],
  ['{"task":{"id":"x"}}', 'lines[1].task.state'],
  ['{"task":{"id":"x","state":"completed","skill":"s","contextId":"c"}}', 'lines[1].task.createdAt'],
])('a line that is not of an archive is refused: %s', async (line, path) => {
  const { a, clock } = replicas(1)
  await ended(a, 'x')
  clock.advance(1)
  const lines: string[] = []
  await a.archive({ olderThanMs: 0, write: (written) => void lines.push(written) })
  const store = memoryStore()
  expect(await rejection(restoreArchive(store, [...lines, line]))).toMatchObject({
    code: 'INVALID_PARAMS',
    data: { path },
  })
  expect(await store.count({})).toBe(1)
})

test('wrong options and a text in place of lines are refused', async () => {
  const { a } = replicas(1)
  const write = (): void => undefined
  const archive = (options: object): Promise<unknown> => rejection(a.archive(options as ArchiveOptions))
  expect(await archive({ write })).toMatchObject({
    message: expect.stringContaining('"olderThanMs"') as unknown,
  })
  expect(await archive({ olderThanMs: -1, write })).toBeInstanceOf(RangeError)
  expect(await archive({ olderThanMs: 1 })).toMatchObject({
    message: expect.stringContaining('"write"') as unknown,
  })
  expect(await archive({ olderThanMs: 1, write, states: [] })).toMatchObject({ code: 'INVALID_PARAMS' })
  expect(await rejection(restoreArchive(memoryStore(), '{}'))).toBeInstanceOf(TypeError)
})
