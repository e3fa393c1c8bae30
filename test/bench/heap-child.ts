/**
 * Fills one store with small completed tasks, and prints how much heap each takes: `heap-child.ts <what> <library>`.
 */
import { Role, TaskState } from '@a2a-js/sdk'
import { AgentEvent, InMemoryTaskStore, ResultManager, ServerCallContext } from '@a2a-js/sdk/server'
import type { Library } from './build.js'
import { officialMessage, officialTask, statusOf } from './peers/official.js'
import { textOf } from './workload.js'

const SIZE = 100_000
const WARM_UP = 2_000

/** Something that holds `size` tasks. */
type Fill = (size: number) => Promise<unknown>

function oursWithInput({ TaskManager }: Library): Fill {
  return (size) => {
    const manager = new TaskManager({ maxTasks: size })
    for (let index = 0; index < size; index++) {
      const { id } = manager.createTask({ skill: 'summarize', input: { text: textOf(index) } })
      manager.updateTask(id, { state: 'working' })
      manager.updateTask(id, { state: 'completed' })
    }
    return Promise.resolve(manager)
  }
}

function oursWithMessage({ TaskManager }: Library): Fill {
  return (size) => {
    const manager = new TaskManager({ maxTasks: size })
    for (let index = 0; index < size; index++) {
      const { id } = manager.createTask({ skill: 'summarize' })
      manager.addMessage(id, { role: 'user', parts: [{ text: textOf(index) }] })
      manager.updateTask(id, { state: 'working' })
      manager.updateTask(id, { state: 'completed' })
    }
    return Promise.resolve(manager)
  }
}

const official: Fill = async (size) => {
  const store = new InMemoryTaskStore()
  const context = new ServerCallContext()
  for (let index = 0; index < size; index++) {
    const results = new ResultManager(store, context)
    const ids = { taskId: crypto.randomUUID(), contextId: crypto.randomUUID() }
    // The handler names task and context in the message before it hands it on.
    const message = { ...officialMessage(textOf(index), Role.ROLE_USER), ...ids }
    const fields = { state: TaskState.TASK_STATE_SUBMITTED, contextId: ids.contextId, history: [message] }
    const task = officialTask(ids.taskId, fields)
    await results.processEvent(AgentEvent.task(task))
    await results.processEvent(statusOf(task.id, TaskState.TASK_STATE_WORKING))
    await results.processEvent(statusOf(task.id, TaskState.TASK_STATE_COMPLETED))
  }
  return store
}

function heapInUse(): number {
  for (let turn = 0; turn < 4; turn++) globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

async function fillOf(what: string, url: string): Promise<Fill> {
  // What the benchmark built has the exports of src/index.ts.
  const library = (await import(url)) as Library
  if (what === 'input') return oursWithInput(library)
  if (what === 'message') return oursWithMessage(library)
  return official
}

const [what = '', url = ''] = process.argv.slice(2)
const fill = await fillOf(what, url)
await fill(WARM_UP)
const before = heapInUse()
const held = await fill(SIZE)
const after = heapInUse()
if (held === undefined) throw new Error('Nothing was held')
console.log((after - before) / SIZE)
