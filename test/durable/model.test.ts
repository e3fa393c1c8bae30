/** Model test: the durable manager behaves as the manager in memory for sequential use. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  A2AError,
  TaskManager,
  VALID_STATES,
  type ArtifactInput,
  type CreateTaskParams,
  type TaskEvents,
  type TaskStreamEvent,
  type TaskUpdate,
  saveTasks,
} from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'
import { says } from './support/durable.js'
import { samples } from '../support/samples.js'

const LIMITS = { maxMessages: 4, maxArtifacts: 3, maxHistory: 5, maxOutputSize: 40 }
const EVENT_NAMES: (keyof TaskEvents)[] = [
  ...(['task:created', 'task:stateChange', 'task:updated', 'task:artifact', 'task:message'] as const),
  ...(['task:event', 'task:expired', 'listener:error'] as const),
]

type Either = TaskManager | DurableTaskManager
type Command = (tasks: Either) => unknown

/** What an answer, or an error, says. */
async function outcomeOf(run: () => unknown): Promise<unknown> {
  try {
    return { answer: await run() }
  } catch (error) {
    if (!A2AError.is(error)) throw error
    const { code, message, data } = error
    return { code, message, data }
  }
}

function recordEvents(tasks: Either): unknown[] {
  const emitted: unknown[] = []
  // All of them have one payload.
  const on = tasks.on.bind(tasks) as (event: string, listener: (payload: unknown) => void) => unknown
  for (const event of EVENT_NAMES) on(event, (payload) => emitted.push([event, payload]))
  return emitted
}

/** As many entries as a subscription has at once. */
async function read(tasks: Either, id: string, after: number): Promise<TaskStreamEvent[]> {
  const task = await tasks.peekTask(id)
  if (task === null) return []
  const subscription = tasks.subscribe(id, { after })
  const entries: TaskStreamEvent[] = []
  while ((entries.at(-1)?.generation ?? after) !== task.generation) {
    const { value } = await subscription.next()
    if (value === undefined) break
    entries.push(value)
  }
  await subscription.return()
  return entries
}

const ids = fc.constantFrom('a', 'b', 'c', 'unknown')
const generations = fc.option(fc.nat(8), { nil: undefined })
const states = fc.constantFrom(...VALID_STATES)
const texts = fc.constantFrom('', 'x', 'wörd', 'y'.repeat(50), '\u0000\ud83d\ude00')
const expecting = (expectedGeneration: number | undefined): { expectedGeneration?: number } =>
  expectedGeneration === undefined ? {} : { expectedGeneration }

const creations = fc.record<CreateTaskParams>(
  {
    skill: fc.constantFrom('test', ''),
    id: fc.constantFrom('a', 'b', 'c', ''),
    input: fc.constantFrom<unknown>({ n: 1 }, undefined, Symbol('no JSON')),
    owner: fc.constantFrom('ada', 'bob'),
    contextId: fc.constantFrom('k', 'l'),
  },
  { requiredKeys: ['skill', 'id'] },
)
const updates = fc.record<TaskUpdate>(
  {
    state: fc.option(states, { nil: undefined }),
    output: texts,
    artifacts: fc.array(fc.record<ArtifactInput>({ artifactId: fc.constantFrom('p', 'q'), name: texts })),
    message: fc.option(fc.oneof(texts, texts.map(says))),
    expectedGeneration: fc.nat(8),
  },
  { requiredKeys: [] },
)

const commands: fc.Arbitrary<Command> = fc.oneof(
  creations.map((params) => (tasks: Either) => tasks.createTask(params)),
  fc.tuple(ids, updates).map(
    ([id, update]) =>
      (tasks: Either) =>
        tasks.updateTask(id, update),
  ),
  fc.tuple(ids, updates).map(
    ([id, update]) =>
      (tasks: Either) =>
        tasks.patchTask(id, update),
  ),
  fc.tuple(ids, states).map(
    ([id, state]) =>
      (tasks: Either) =>
        tasks.updateTask(id, { state }),
  ),
  fc.tuple(ids, generations).map(
    ([id, expected]) =>
      (tasks: Either) =>
        tasks.cancelTask(id, expecting(expected)),
  ),
  fc.tuple(ids, texts, fc.boolean(), generations).map(([id, text, append, expected]) => (tasks: Either) => {
    const artifact = { artifactId: 'p', parts: [{ text }], metadata: { [text]: 1 } }
    return tasks.appendArtifact(id, artifact, { append, ...expecting(expected) })
  }),
  fc.tuple(ids, texts, generations).map(
    ([id, text, expected]) =>
      (tasks: Either) =>
        tasks.addMessage(id, says(text), expecting(expected)),
  ),
  fc.tuple(ids, fc.nat(9)).map(
    ([id, after]) =>
      (tasks: Either) =>
        tasks.events(id, { after }),
  ),
  fc.tuple(ids, fc.nat(9)).map(
    ([id, after]) =>
      (tasks: Either) =>
        read(tasks, id, after),
  ),
  fc.tuple(ids, states).map(
    ([id, state]) =>
      (tasks: Either) =>
        tasks.can(id, state),
  ),
  ids.map((id) => (tasks: Either) => tasks.stateOf(id)),
  ids.map((id) => (tasks: Either) => tasks.getTask(id)),
  states.map((state) => (tasks: Either) => tasks.countTasks({ state })),
  fc.constantFrom('ada', null).map((owner) => (tasks: Either) => tasks.listTasks({ owner })),
)

async function pages(tasks: Either): Promise<unknown> {
  const found: unknown[] = []
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await tasks.pageTasks({ pageSize: 2, ...(cursor !== undefined && { cursor }) })
    found.push(page)
    cursor = page.nextCursor
  }
  return found
}

test('answers, errors, events, logs and tasks are those of the manager in memory', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(commands, fc.nat(1)), { minLength: 5, maxLength: 60 }),
      async (steps) => {
        const clock = new ManualClock()
        const options = { clock, limits: LIMITS, maxInputSize: 60 }
        const model = new TaskManager({ ...options, generateId: sequentialIds() })
        const store = memoryStore({ now: () => clock.now() })
        const real = new DurableTaskManager({ ...options, store, generateId: sequentialIds() })
        const expected = recordEvents(model)
        const emitted = recordEvents(real)
        for (const id of ['a', 'b']) {
          for (const each of [model, real]) await each.createTask({ skill: 's', id })
          clock.advance(1)
        }
        for (const [step, ms] of steps) {
          clock.advance(ms)
          const seen = await outcomeOf(() => step(real))
          const wanted = await outcomeOf(() => step(model))
          expect(seen).toEqual(wanted)
        }
        expect(emitted).toEqual(expected)
        expect(await saveTasks(real)).toEqual(saveTasks(model))
        expect(await pages(real)).toEqual(await pages(model))
        // Another manager has it all from the store.
        const other = new DurableTaskManager({ ...options, store })
        for (const { id } of saveTasks(model)) {
          expect(await other.getTask(id)).toEqual(model.getTask(id))
          expect(await other.events(id)).toEqual(model.events(id))
          expect(await read(other, id, 1)).toEqual(await read(model, id, 1))
        }
        await Promise.all([real.destroy(), other.destroy()])
      },
    ),
    { numRuns: samples(150) },
  )
})
