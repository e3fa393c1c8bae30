/** Ids that another task has by the time that a service answers. */
import { restoreTasks, saveTasks } from 'a2a-tasks'
import { describe, expect, it } from 'vitest'
import { pass, setUp } from './support/gateway.js'

const SECRET = 'a secret that every process of the test has'

describe('an id that another task has by now', () => {
  it('does not get the service location of a removed task', async () => {
    const made = setUp({ manager: { maxTasks: 1, whenFull: 'evict-terminal' } })
    const { gateway, tasks, provider, clock } = made
    const first = gateway.sendTask('a', 'of alice', { id: 'x', owner: 'alice' })
    const late = await provider.untilCalled('sendTask')
    tasks.cancelTask('x')
    await first
    tasks.createTask({ skill: 'other', id: 'y' })
    tasks.cancelTask('y')
    const second = gateway.sendTask('a', 'of bob', { id: 'x', owner: 'bob' })
    const own = await provider.untilCalled('sendTask')
    await own.answer({ state: 'input-required', message: 'Which?' })
    await second
    await late.answer({ state: 'working', ref: { thread: 'of alice' } })
    await pass(clock, 20_000)
    void gateway.sendTask('a', { parts: [{ text: 'this' }], taskId: 'x' }, { owner: 'bob' })
    const answer = await provider.untilCalled('sendTask')
    expect(answer.task.ref).toBeUndefined()
  })

  it('is not shown to another owner by a look that was under way', async () => {
    const made = setUp({ manager: { maxTasks: 1, whenFull: 'evict-terminal' } })
    const { gateway, tasks, provider } = made
    const asked = gateway.sendTask('a', 'of alice', { id: 'x', owner: 'alice' })
    const question = { ref: { thread: 'of alice' }, state: 'input-required', message: 'Which?' }
    await (await provider.untilCalled('sendTask')).answer(question)
    await asked
    const refused = expect(gateway.getTask('x', { owner: 'alice' })).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    const look = await provider.untilCalled('getTask')
    const { generation = 0 } = tasks.peekTask('x') ?? {}
    tasks.cancelTask('x')
    tasks.createTask({ skill: 'other', id: 'y' })
    tasks.cancelTask('y')
    tasks.createTask({ skill: 'a', id: 'x', owner: 'bob' })
    // As many changes as the other had.
    for (let n = 1; n < generation; n += 1) tasks.patchTask('x', { message: String(n) })
    await look.answer({ state: 'completed', artifacts: [{ artifactId: 'r', parts: [{ text: 'of alice' }] }] })
    await refused
    expect(tasks.getTask('x')).toMatchObject({ owner: 'bob', state: 'submitted', artifacts: [] })
  })

  it('is not filled by a handle that was being opened', async () => {
    const before = setUp({ handleSecret: SECRET })
    void before.gateway.sendTask('a', 'of alice', { id: 'x', owner: 'alice' })
    await (await before.provider.untilCalled('sendTask')).answer({ ref: { run: 1 }, state: 'working' })
    const handle = await before.gateway.handleOf('x')
    const { gateway, tasks, provider } = setUp({
      handleSecret: SECRET,
      manager: { maxTasks: 1, whenFull: 'evict-terminal' },
    })
    restoreTasks(tasks, saveTasks(before.tasks))
    const refused = expect(gateway.resume(handle ?? '')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    const look = await provider.untilCalled('getTask')
    tasks.cancelTask('x')
    tasks.createTask({ skill: 'other', id: 'y' })
    tasks.cancelTask('y')
    tasks.createTask({ skill: 'a', id: 'x', owner: 'bob' })
    await look.answer({ state: 'completed', artifacts: [{ artifactId: 'r', parts: [{ text: 'of alice' }] }] })
    await refused
    expect(tasks.getTask('x')).toMatchObject({ owner: 'bob', state: 'submitted', artifacts: [] })
  })
})
