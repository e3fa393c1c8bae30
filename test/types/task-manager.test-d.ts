import { expectTypeOf, test } from 'vitest'
import {
  A2AError,
  canTransition,
  defineLifecycle,
  TaskManager,
  type AnyA2AError,
  type ArtifactChanged,
  type Lifecycle,
  type StateChange,
  type Task,
  type TaskEvents,
  type TaskSnapshot,
  type TaskState,
  type TaskStreamEvent,
  saveTasks,
  restoreTasks,
} from 'a2a-tasks'

const tasks = new TaskManager()

// `any` would let every assertion below pass.
test('nothing is any', () => {
  expectTypeOf(tasks).not.toBeAny()
  expectTypeOf(tasks.createTask({ skill: 'x' })).not.toBeAny()
  expectTypeOf<TaskManager['on']>().parameter(1).not.toBeAny()
})

test('methods', () => {
  expectTypeOf(tasks.createTask({ skill: 'x' })).toEqualTypeOf<Task>()
  expectTypeOf(tasks.getTask('id')).toEqualTypeOf<Task | null>()
  expectTypeOf(tasks.peekTask('id')).toEqualTypeOf<TaskSnapshot | null>()
  expectTypeOf(tasks.appendArtifact('id', {})).toEqualTypeOf<ArtifactChanged>()
  expectTypeOf(tasks.subscribe('id')).toExtend<AsyncIterableIterator<TaskStreamEvent>>()
  expectTypeOf(tasks.waitFor('id')).resolves.toEqualTypeOf<Task>()
  expectTypeOf<TaskManager['can']>().parameter(1).toEqualTypeOf<TaskState>()
})

test('the manager accepts interfaces and unknown values as JSON', () => {
  interface Query {
    text: string
    pages?: number[]
  }
  const input: Query = { text: 'x' }
  tasks.createTask({ skill: 'x', input, metadata: input })
  tasks.updateTask('id', { output: input })
  // @ts-expect-error metadata is an object
  tasks.createTask({ skill: 'x', metadata: 'x' })
})

test('mistakes are seen by the compiler', () => {
  // @ts-expect-error a task needs a skill
  tasks.createTask({ input: 1 })
  // @ts-expect-error British spelling
  tasks.updateTask('id', { state: 'cancelled' })
  // @ts-expect-error the property is called state
  tasks.updateTask('id', { status: 'working' })
  // @ts-expect-error a filter by an owner who may be undefined would list everybody's tasks
  tasks.listTasks({ owner: undefined as string | undefined })
  // @ts-expect-error no such event
  tasks.on('task:finished', () => undefined)
  // @ts-expect-error the payload is a state change, not a task
  tasks.on('task:stateChange', (task: Task) => task.id)
  // @ts-expect-error no such option
  new TaskManager({ maxTask: 5 })
  // @ts-expect-error a part has one content
  tasks.getTask('id')?.messages.push({ messageId: 'm', role: 'user', parts: [{ text: 'a', url: 'b' }] })
})

test('the manager accepts what it returns', () => {
  const task = tasks.createTask({ skill: 'x' })
  const snapshot = saveTasks(tasks)
  for (const message of task.messages) tasks.addMessage('id', message)
  tasks.updateTask('id', { artifacts: task.artifacts })
  tasks.updateTask('id', { artifacts: snapshot[0]?.artifacts })
  for (const artifact of task.artifacts) tasks.appendArtifact('id', artifact)
  restoreTasks(tasks, [task])
  restoreTasks(tasks, snapshot)
})

test('snapshots cannot be written to', () => {
  const task = tasks.peekTask('id')
  if (task === null) return
  // @ts-expect-error the task is read-only
  task.state = 'working'
  // @ts-expect-error read-only all the way down
  task.history.length = 0
  // @ts-expect-error so is its JSON
  task.input = 'x'
})

test('listeners', () => {
  tasks.on('task:updated', (task) => expectTypeOf(task).toEqualTypeOf<TaskSnapshot>())
  tasks.on('task:stateChange', (change) => expectTypeOf(change).toEqualTypeOf<StateChange>())
  tasks.once('listener:error', ({ error, event }) => {
    expectTypeOf(error).toBeUnknown()
    expectTypeOf(event).toBeString()
  })
  expectTypeOf<keyof TaskEvents>().toExtend<`${string}:${string}`>()
})

test('a lifecycle of its own gives a manager its states', () => {
  const lifecycle = defineLifecycle({ open: ['review', 'closed'], review: ['closed'], closed: [] })
  expectTypeOf(lifecycle).toEqualTypeOf<Lifecycle<'open' | 'review' | 'closed'>>()
  const own = new TaskManager({ lifecycle })
  own.updateTask('id', { state: 'review' })
  own.on('task:stateChange', ({ to }) => expectTypeOf(to).toEqualTypeOf<'open' | 'review' | 'closed'>())
  expectTypeOf(own.getTask('id')?.state).toEqualTypeOf<'open' | 'review' | 'closed' | undefined>()
  // @ts-expect-error not one of its states
  own.updateTask('id', { state: 'working' })
  // @ts-expect-error a target that is not a state
  defineLifecycle({ open: ['gone'], closed: [] })
  canTransition('open', 'review', lifecycle)
  // @ts-expect-error neither state is in the table
  canTransition('submitted', 'working', lifecycle)
})

test('errors narrow by code', () => {
  const error: unknown = undefined
  if (A2AError.is(error)) {
    expectTypeOf(error).toEqualTypeOf<AnyA2AError>()
    if (error.code === 'INVALID_TRANSITION') expectTypeOf(error.data.from).toBeString()
    // @ts-expect-error no such code
    if (error.code === 'NO_SUCH_CODE') return
  }
  if (A2AError.is(error, 'TASK_LIMIT_REACHED')) expectTypeOf(error.data.maxTasks).toBeNumber()
})
