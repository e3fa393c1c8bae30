/** Tools that only clients which follow tasks may call. */
import { describe, expect, it } from 'vitest'
import type { Execute } from 'a2a-tasks/server'
import { sceneOf, TASKS, textIn, type Json } from './kit.js'
import { HOLD } from './states.js'

const CALL = { name: 'default', arguments: { message: 'Go' } }
const sceneFor = (execute: Execute = () => 'Done') =>
  sceneOf(execute, { tools: { default: { requiresTask: true } }, waitMs: 0 })

describe('without a session', () => {
  it('a client that declares the extension gets a task', async () => {
    const { ask } = sceneFor(HOLD)
    expect((await ask('tools/call', CALL, { tasks: true })).result).toMatchObject({ resultType: 'task' })
  })

  it('another client learns what is missing, and nothing begins', async () => {
    const { ask, tasks } = sceneFor()
    const { status, last } = await ask('tools/call', CALL)
    expect(status).toBe(400)
    expect(last['error']).toEqual({
      ...{ code: -32021, message: 'Missing required client capability' },
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    })
    expect(tasks.listTasks()).toEqual([])
  })
})

describe('with a session', () => {
  it('the list says so', async () => {
    const { inSession } = sceneFor()
    const [tool] = (await inSession('tools/list')).result['tools'] as Json[]
    expect(tool).toMatchObject({ name: 'default', execution: { taskSupport: 'required' } })
  })

  it('a call as a task has its result', async () => {
    const { inSession } = sceneFor()
    const { result } = await inSession('tools/call', { ...CALL, task: {} })
    const { taskId } = result['task'] as Json
    expect(textIn((await inSession('tasks/result', { taskId })).result)).toBe('Done')
  })

  it('another call is refused, and nothing begins', async () => {
    const { inSession, tasks } = sceneFor()
    const { status, last } = await inSession('tools/call', CALL)
    expect(status).toBe(200)
    expect(last['error']).toMatchObject({
      code: -32601,
      message: 'The tool default requires a call with "task"',
    })
    expect(tasks.listTasks()).toEqual([])
  })
})
