/** Tasks that are restored under ids that the store has: the same content, and other content. */
import type { SavedTask } from 'a2a-tasks'
import { expect, test } from 'vitest'
import { replicas } from './support/durable.js'

const CREATED = '2025-01-01T00:00:00.000Z'
const INPUT = { a: 1, b: 2 }

/** A task that has done a step of an unfinished turn, and has an artifact. */
function working(change: Partial<SavedTask> = {}): SavedTask {
  const timestamp = CREATED
  return {
    ...{ id: 'x', skill: 's', state: 'working', createdAt: CREATED, generation: 4, input: INPUT },
    ...{ artifacts: [{ artifactId: 'log', parts: [{ text: 'A' }] }] },
    recorded: [
      {
        ...{ type: 'journal', taskId: 'x', generation: 3, timestamp },
        entry: { kind: 'turn', messageId: 'm' },
      },
    ],
    ...change,
  }
}

function submitted(change: Partial<SavedTask> = {}): SavedTask {
  return { id: 'x', skill: 's', state: 'submitted', createdAt: CREATED, input: INPUT, ...change }
}

test.each([
  ['another input', submitted, { input: 'other' }],
  ['another skill', submitted, { skill: 'other' }],
  ['another owner', submitted, { owner: 'ada' }],
  ['another state', working, { state: 'completed', recorded: [] }],
  ['another artifact', working, { artifacts: [] }],
  ['another history', working, { recorded: [] }],
  ['another generation', working, { generation: 5 }],
  ['another time of creation', working, { createdAt: '2024-01-01T00:00:00.000Z' }],
] as const)(
  'with %s it is refused, before and after the stored task has changed',
  async (_, saved, change) => {
    const { a, b } = replicas(2)
    await a.restore([saved()])
    const before = await a.snapshot()
    const refused = { code: 'INVALID_PARAMS', message: 'tasks[0].id is taken: x' }
    const other = (): Promise<void> => b.restore([saved(change)])
    await expect(other()).rejects.toMatchObject(refused)
    expect(await a.snapshot()).toEqual(before)
    await a.patchTask('x', { message: 'changed' })
    await expect(other()).rejects.toMatchObject(refused)
  },
)

test.each([
  ['without a history', submitted],
  ['with a history', working],
] as const)('with the same content it passes, and leaves the task as it is: %s', async (_, saved) => {
  const { a, b } = replicas(2)
  await a.restore([saved()])
  // A database may order the keys of JSON.
  await b.restore([saved({ input: { b: 2, a: 1 } })])
  await a.patchTask('x', { message: 'changed' })
  const changed = await a.snapshot()
  await b.restore([saved()])
  expect(await b.snapshot()).toEqual(changed)
})

test('a task that was not restored is refused', async () => {
  const { a, b } = replicas(2)
  await a.createTask({ id: 'x', skill: 's' })
  await expect(b.restore(await a.snapshot())).rejects.toThrow('is taken: x')
})
