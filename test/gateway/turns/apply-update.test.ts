import { describe, expect, test } from 'vitest'
import type { TaskState } from 'a2a-tasks'
import { applyUpdate, requireUpdate } from '../../../src/gateway/turns/apply-update.js'
import type { TaskUpdate } from '../../../src/gateway/provider.js'
import { AgentRegistry } from '../../../src/gateway/registry/registry.js'
import { setup, thrown, walk } from '../../support/manager.js'
import { agentInput } from '../support/gateway.js'

const PATHS: Partial<Record<TaskState, TaskState[]>> = {
  working: ['working'],
  'input-required': ['working', 'input-required'],
  'auth-required': ['working', 'auth-required'],
}

function at(state: TaskState) {
  const { tasks, id } = setup()
  walk(tasks, id, ...(PATHS[state] ?? []))
  const before = tasks.peekTask(id)?.generation ?? 0
  const apply = (update: TaskUpdate): void => applyUpdate(tasks, id, update)
  const states = (): TaskState[] =>
    tasks.events(id, { after: before }).flatMap((event) => (event.type === 'status' ? [event.to] : []))
  return {
    tasks,
    id,
    apply,
    states,
    task: () => tasks.peekTask(id),
    count: () => tasks.events(id, { after: before }).length,
  }
}

describe('what a service says of the state', () => {
  test.each<[TaskState, TaskState, TaskState[]]>([
    ['submitted', 'submitted', []],
    ['submitted', 'working', ['working']],
    ['submitted', 'completed', ['working', 'completed']],
    ['submitted', 'input-required', ['working', 'input-required']],
    ['submitted', 'rejected', ['rejected']],
    ['working', 'submitted', []],
    ['working', 'working', []],
    ['working', 'auth-required', ['auth-required']],
    ['input-required', 'submitted', ['working']],
    ['input-required', 'input-required', []],
    ['input-required', 'completed', ['working', 'completed']],
    ['auth-required', 'input-required', ['input-required']],
    ['auth-required', 'canceled', ['canceled']],
  ])('takes the task from %s to %s by %j', (from, state, path) => {
    const { apply, states } = at(from)
    apply({ state })
    expect(states()).toEqual(path)
  })

  test.each<TaskUpdate>([{ state: 'working' }, { state: 'completed' }, { message: 'x' }, {}])(
    'is refused of a task that has ended: %j',
    (update) => {
      const { apply, tasks, id } = at('working')
      tasks.cancelTask(id)
      expect(thrown(() => apply(update))).toMatchObject({ code: 'TASK_TERMINAL' })
    },
  )

  test('is refused of a task that is gone', () => {
    const { apply, tasks } = at('working')
    tasks.destroy()
    expect(thrown(() => apply({ state: 'working' }))).toMatchObject({ code: 'TASK_NOT_FOUND' })
  })
})

describe('a result', () => {
  const types = ({ tasks, id }: ReturnType<typeof at>): string[] =>
    tasks.events(id).map((event) => (event.type === 'status' ? event.to : event.type))

  const chunk = { artifactId: 'o', parts: [{ text: 'a' }] }

  test.each<[TaskState, TaskUpdate]>([
    ['submitted', { chunk }],
    ['submitted', { artifacts: [chunk] }],
    ['submitted', { state: 'submitted', chunk }],
    ['submitted', { state: 'working', chunk }],
    ['submitted', { state: 'working', artifacts: [chunk] }],
    ['input-required', { state: 'working', chunk }],
    ['auth-required', { state: 'submitted', artifacts: [chunk] }],
  ])('of a task that is %s moves the task to working first: %j', (from, update) => {
    const all = at(from)
    all.apply(update)
    expect(types(all).slice(-2)).toEqual(['working', 'artifact'])
  })

  test('keeps its message', () => {
    const { apply, task, states } = at('submitted')
    apply({ chunk, message: 'Half', progress: 0.5 })
    expect(task()).toMatchObject({ state: 'working', message: { parts: [{ text: 'Half' }] } })
    expect(states()).toEqual(['working', 'working'])
  })

  test('comes before the question of the same update', () => {
    const all = at('submitted')
    all.apply({ state: 'input-required', chunk, message: '?' })
    expect(types(all).slice(-3)).toEqual(['working', 'artifact', 'input-required'])
  })

  test.each<TaskUpdate>([{ artifacts: [] }, { progress: 0.5 }, { ref: { r: 1 } }])(
    'is not what %j brings',
    (update) => {
      const { apply, task } = at('submitted')
      apply(update)
      expect(task()?.state).toBe('submitted')
    },
  )
})

describe('what is no update is refused:', () => {
  const agent = new AgentRegistry().register(agentInput('a'))
  const known = 'ref, state, message, artifacts, chunk, output, progress, failure, spent'

  test.each<[unknown, string]>([
    [42, "its answer must be an update such as { state: 'completed' }, got a number"],
    [undefined, "its answer must be an update such as { state: 'completed' }, got undefined"],
    [null, "its answer must be an update such as { state: 'completed' }, got null"],
    ['done', "its answer must be an update such as { state: 'completed' }, got a string"],
    [[], "its answer must be an update such as { state: 'completed' }, got an array"],
    [{ answer: 42 }, `its update has "answer"; known are ${known}`],
    [{ ['x'.repeat(99)]: 1 }, `its update has "${'x'.repeat(80)}"; known are ${known}`],
    [{ state: 'finished' }, 'it says a state that is not known'],
    [{ state: 'toString' }, 'it says a state that is not known'],
    [{ state: null }, 'it says a state that is not known'],
  ])('%j', (update, reason) => {
    const data = { provider: 'custom', agentId: 'a', reason, retryable: false }
    expect(thrown(() => requireUpdate(update, agent))).toMatchObject({ code: 'PROVIDER_ERROR', data })
  })

  test('an update may have few fields, and undefined ones', () => {
    for (const update of [{}, { state: undefined }, { state: 'rejected' }]) requireUpdate(update, agent)
  })
})

describe('what a service says in words', () => {
  test('is a progress report while it works, and no part of the conversation', () => {
    const { apply, task } = at('working')
    apply({ message: 'Reading', progress: 0.5 })
    expect(task()).toMatchObject({
      message: {
        role: 'agent',
        parts: [{ text: 'Reading' }],
        metadata: { progress: { current: 0.5, total: 1 } },
      },
      messages: [],
    })
  })

  test.each([
    [-1, '0 %', 0],
    [0, '0 %', 0],
    [1 / 3, '33 %', 1 / 3],
    [7, '100 %', 1],
  ])('is %f of the work, bounded', (progress, text, current) => {
    const { apply, task } = at('working')
    apply({ progress })
    expect(task()?.message).toMatchObject({ metadata: { progress: { current, total: 1 } } })
    if (progress >= 0 && progress <= 1) expect(task()?.message).toMatchObject({ parts: [{ text }] })
  })

  test('is part of the conversation, once, where it asks or has ended', () => {
    const { apply, task } = at('working')
    apply({ state: 'input-required', message: 'When?' })
    apply({ state: 'input-required', message: 'When?' })
    expect(task()?.messages).toEqual([task()?.message])
    apply({ state: 'input-required', message: { parts: [{ data: { when: null } }] } })
    expect(task()?.messages).toHaveLength(2)
    apply({ state: 'completed', message: 'Done' })
    expect(task()).toMatchObject({
      message: { parts: [{ text: 'Done' }] },
      messages: [{}, {}, { parts: [{ text: 'Done' }] }],
    })
  })

  test('is removed when the state changes', () => {
    const { apply, task } = at('working')
    apply({ message: 'Reading' })
    apply({ state: 'completed' })
    expect(task()?.message).not.toMatchObject({ parts: [{ text: 'Reading' }] })
  })

  test('is why it failed, for people and programs', () => {
    const { apply, task } = at('working')
    apply({ state: 'failed', message: 'Too long', failure: { code: 'context_length', retryable: false } })
    expect(task()?.message).toMatchObject({
      parts: [{ text: 'Too long' }],
      metadata: { code: 'context_length', retryable: false },
    })
  })

  test('is at least the state, if the reason is only for programs', () => {
    const { apply, task } = at('working')
    apply({ state: 'failed', message: { parts: [] }, failure: { code: 'x', retryable: true } })
    expect(task()?.message).toMatchObject({
      parts: [{ text: 'The task is failed' }],
      metadata: { code: 'x' },
    })
  })
})

describe('results', () => {
  test('grow by chunks, and are replaced by artifacts of the same id', () => {
    const { apply, task } = at('working')
    apply({ chunk: { artifactId: 'o', parts: [{ text: 'a' }] } })
    apply({ chunk: { artifactId: 'o', parts: [{ text: 'b' }] } })
    expect(task()?.artifacts).toEqual([{ artifactId: 'o', parts: [{ text: 'ab' }] }])
    apply({
      artifacts: [
        { artifactId: 'o', parts: [{ text: 'abc' }] },
        { artifactId: 'p', parts: [] },
      ],
    })
    expect(task()?.artifacts).toEqual([
      { artifactId: 'o', parts: [{ text: 'abc' }] },
      { artifactId: 'p', parts: [] },
    ])
  })

  test('of an agent that does not join the chunks of a text make no event', () => {
    const { apply, count, task } = at('working')
    const parts = [{ text: 'a' }, { text: 'b' }]
    for (const part of parts) apply({ chunk: { artifactId: 'o', parts: [part] } })
    const seen = count()
    apply({ artifacts: [{ artifactId: 'o', parts }] })
    expect(count()).toBe(seen)
    expect(task()?.artifacts).toEqual([{ artifactId: 'o', parts: [{ text: 'ab' }] }])
  })

  test('that are there already make no event', () => {
    const { apply, count } = at('working')
    const update = { artifacts: [{ artifactId: 'o', parts: [{ data: { a: 1 } }] }], output: [null] }
    apply(update)
    const seen = count()
    apply(structuredClone(update))
    expect(count()).toBe(seen)
    apply({ ...update, output: [] })
    expect(count()).toBe(seen + 1)
  })

  test('come before the end', () => {
    const { apply, tasks, id } = at('working')
    apply({ state: 'completed', chunk: { artifactId: 'o', parts: [{ text: 'a' }] }, output: 7 })
    expect(
      tasks
        .events(id)
        .map(({ type }) => type)
        .slice(-3),
    ).toEqual(['artifact', 'output', 'status'])
  })
})
