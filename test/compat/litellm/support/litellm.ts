/** Tasks of LiteLLM-RS' A2A gateway, as its clients send them and as they are shown to them. */
import type { JsonValue, TaskSnapshot, TaskState } from 'a2a-tasks'
import { litellm } from '../../../../src/compat/index.js'
import { setup, walk } from '../../../support/manager.js'

const { rpc } = litellm()

/** What `Task::new(agent_id, provider, instruction)` of the document becomes as JSON. */
export function newTask(instruction = 'Summarize this') {
  return {
    id: '6f1c1d0e-6a52-4a5e-9d0c-0a8a3f2b1c11',
    state: 'pending',
    input: { instruction, context: null as JsonValue, artifacts: [] as object[] },
    metadata: { agent_id: 'research-agent', provider: 'langgraph', tags: [] as string[] },
    created_at: 1_767_225_600,
    updated_at: 1_767_225_600,
  }
}

export function send(params: unknown) {
  const request = rpc.SendMessage?.decode(params)
  if (request === undefined) throw new Error('Nothing can be sent')
  return request
}

/** A task as the server makes it of what a client of the dialect sends, walked to its last state. */
export function taken(params: unknown, ...states: TaskState[]) {
  const { message } = send(params)
  const { contextId, referenceTaskIds } = message
  const { tasks } = setup()
  const { id } = tasks.createTask({ skill: 'test', contextId, referenceTaskIds })
  tasks.addMessage(id, { ...message, taskId: id })
  walk(tasks, id, ...states)
  return { tasks, id, show: () => shown(tasks.peekTask(id)) }
}

export function shown(task: TaskSnapshot | null) {
  if (task === null) throw new Error('The task is gone')
  // The dialect shows a task as an object.
  return rpc.GetTask?.encode({ task }) as Record<string, JsonValue>
}
