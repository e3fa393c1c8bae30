/**
 * The manager against a model so naive that it is plainly right: an array of plain objects, scanned and cloned.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canTransition, isTerminal, TaskManager, VALID_STATES, type Task, type TaskState } from 'a2a-tasks'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'
import { samples } from '../support/samples.js'

const MAX_TASKS = 5
const EXPIRY_MS = 50
const TIMEOUT_MS = 30

interface ModelTask {
  id: string
  owner: string
  state: TaskState
  states: TaskState[]
  output: unknown
  chunks: string[]
  createdMs: number
  changedMs: number
}

class Model {
  now = 0
  tasks: ModelTask[] = []
  #ids = 0

  create(owner: string): boolean {
    const id = `task-${++this.#ids}`
    this.tasks = this.tasks.filter(({ createdMs }) => this.now - createdMs <= EXPIRY_MS)
    if (this.tasks.length >= MAX_TASKS) return false
    const state = 'submitted'
    const task = { id, owner, state, states: [state], output: null, chunks: [], createdMs: this.now } as const
    this.tasks.push({ ...task, states: [state], chunks: [], changedMs: this.now })
    return true
  }

  change(index: number, change: { state?: TaskState; output?: unknown; chunk?: string }): boolean {
    const task = this.tasks[index]
    if (task === undefined || isTerminal(task.state)) return false
    if (change.state !== undefined) {
      if (!canTransition(task.state, change.state)) return false
      task.state = change.state
      task.states.push(change.state)
    }
    if (change.output !== undefined) task.output = change.output
    if (change.chunk !== undefined) task.chunks.push(change.chunk)
    task.changedMs = this.now
    return true
  }

  /** Timeouts come in the order of creation, each as its own change. */
  advance(ms: number): void {
    this.now += ms
    for (const [index, task] of this.tasks.entries()) {
      if (this.now - task.createdMs >= TIMEOUT_MS) this.change(index, { state: 'failed' })
    }
  }
}

interface Pair {
  model: Model
  real: { tasks: TaskManager; clock: ManualClock }
}

/** Does the same to both, and compares all that can be seen of them. */
function step(pair: Pair, model: (model: Model) => boolean, real: (tasks: TaskManager) => unknown): void {
  const { tasks } = pair.real
  let accepted = true
  try {
    real(tasks)
  } catch {
    accepted = false
  }
  expect(accepted).toBe(model(pair.model))
  compare(pair)
}

function compare({ model, real: { tasks } }: Pair): void {
  const see = (task: Task): object => ({
    id: task.id,
    owner: task.owner,
    state: task.state,
    states: task.history.map(({ state }) => state),
    output: task.output,
    chunks: task.artifacts.flatMap(({ parts = [] }) => parts.map((part) => part.text)),
  })
  const expected = ({ id, owner, state, states, output, chunks }: ModelTask): object => {
    // Chunks of text are one part.
    return { id, owner, state, states, output, chunks: chunks.length > 0 ? [chunks.join('')] : [] }
  }
  const oldestFirst = model.tasks.toSorted((a, b) => a.createdMs - b.createdMs || byText(a.id, b.id))
  expect(tasks.listTasks().map(see)).toEqual(oldestFirst.map(expected))
  expect(tasks.size()).toBe(model.tasks.length)
  for (const state of VALID_STATES) {
    const hits = oldestFirst.filter((task) => task.state === state && task.owner === 'ada')
    expect(tasks.listTasks({ state, owner: 'ada' }).map(({ id }) => id)).toEqual(hits.map(({ id }) => id))
    expect(tasks.countTasks({ state, owner: 'ada' })).toBe(hits.length)
  }
  const latestFirst = model.tasks.toSorted((a, b) => b.changedMs - a.changedMs || byText(b.id, a.id))
  const first = tasks.pageTasks({ pageSize: 2 })
  const rest = first.nextCursor === undefined ? [] : tasks.pageTasks({ cursor: first.nextCursor }).tasks
  expect([...first.tasks, ...rest].map(({ id }) => id)).toEqual(latestFirst.map(({ id }) => id))
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const index = fc.nat(MAX_TASKS)
const commands = fc.array(
  fc.oneof(
    fc.constantFrom('ada', 'bob').map((owner) => (pair: Pair) => {
      step(
        pair,
        (model) => model.create(owner),
        (tasks) => tasks.createTask({ skill: 'test', owner }),
      )
    }),
    fc.tuple(index, fc.constantFrom(...VALID_STATES)).map(([at, state]) => (pair: Pair) => {
      const id = pair.model.tasks[at]?.id ?? 'unknown'
      step(
        pair,
        (model) => model.change(at, { state, output: state }),
        (tasks) => tasks.updateTask(id, { state, output: state }),
      )
    }),
    fc.tuple(index, fc.string({ maxLength: 3 })).map(([at, chunk]) => (pair: Pair) => {
      const id = pair.model.tasks[at]?.id ?? 'unknown'
      step(
        pair,
        (model) => model.change(at, { chunk }),
        (tasks) => tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: chunk }] }),
      )
    }),
    index.map((at) => (pair: Pair) => {
      const id = pair.model.tasks[at]?.id ?? 'unknown'
      step(
        pair,
        (model) => model.change(at, { state: 'canceled' }),
        (tasks) => tasks.cancelTask(id),
      )
    }),
    fc.integer({ min: 1, max: 20 }).map((ms) => (pair: Pair) => {
      pair.real.clock.advance(ms)
      pair.model.advance(ms)
      compare(pair)
    }),
  ),
  { maxLength: 60 },
)

test('the manager does what the model does', () => {
  fc.assert(
    fc.property(commands, (steps) => {
      const clock = new ManualClock(0)
      const options = { maxTasks: MAX_TASKS, expiryMs: EXPIRY_MS, taskTimeoutMs: TIMEOUT_MS }
      const tasks = new TaskManager({ clock, generateId: sequentialIds(), ...options })
      const pair = { model: new Model(), real: { tasks, clock } }
      for (const each of steps) each(pair)
    }),
    { numRuns: samples(200) },
  )
})
