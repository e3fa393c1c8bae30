/**
 * A task of A2A as one of MCP (extension `io.modelcontextprotocol/tasks`, 2026-07-28).
 *
 * @module
 */
import type { TaskState } from '../core/lifecycle.js'
import type { JsonObject } from '../core/json-types.js'
import { MCP_KEY } from '../runtime/protocols.js'
import { isRecord } from '../runtime/unread.js'
import { awaitedOthersOf } from '../wire/question/questions.js'
import type { RemoteTask } from '../wire/client/dialect.js'
import type { Settings } from './options.js'
import { statusOf } from './progress.js'
import type { Capabilities } from './protocol.js'
import { inputRequestsOf } from './questions.js'
import { resultOfTask } from './results.js'
import { toolOf, type Tool } from './tools.js'

/** A failed call is a result with an error: MCP has `failed` for errors of JSON-RPC only. `docs/guides/mcp.md` has the table. */
const STATUS: Readonly<Record<TaskState, 'working' | 'input_required' | 'completed' | 'cancelled'>> = {
  submitted: 'working',
  working: 'working',
  'input-required': 'input_required',
  'auth-required': 'input_required',
  completed: 'completed',
  failed: 'completed',
  rejected: 'completed',
  canceled: 'cancelled',
}

/** The task without what its status has besides. */
export function taskOf(task: RemoteTask, { clock, ttlMs, pollIntervalMs }: Settings): JsonObject {
  const { state, message, updatedAt, messages } = task
  const lastUpdatedAt = updatedAt ?? new Date(clock.now()).toISOString()
  const statusMessage = message === undefined ? '' : statusOf(message)
  return {
    taskId: task.id,
    status: awaitedOthersOf(task) ? 'working' : STATUS[state],
    ...(statusMessage !== '' && { statusMessage }),
    createdAt: begunAt(messages) ?? lastUpdatedAt,
    lastUpdatedAt,
    ttlMs,
    pollIntervalMs,
  }
}

/** The task as clients with a session read it (2025-11-25), where a call that has an error has failed. */
export function sessionTaskOf(task: RemoteTask, settings: Settings): JsonObject {
  const { ttlMs = null, pollIntervalMs = null, ...base } = taskOf(task, settings)
  const hasFailed = task.state === 'failed' || task.state === 'rejected'
  return { ...base, ...(hasFailed && { status: 'failed' }), ttl: ttlMs, pollInterval: pollIntervalMs }
}

function begunAt(messages: RemoteTask['messages']): string | undefined {
  const begun = messages.find(({ role }) => role === 'user')?.metadata?.[MCP_KEY]
  const at = isRecord(begun) ? begun['at'] : undefined
  return typeof at === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]{8,12}Z$/.test(at) ? at : undefined
}

/** The task with its questions, or its result. */
export function detailedTaskOf(
  task: RemoteTask,
  settings: Settings,
  tools: ReadonlyMap<string, Tool>,
  capabilities: Capabilities,
): JsonObject {
  const base = taskOf(task, settings)
  switch (base['status']) {
    case 'input_required':
      // Requests for the user are JSON.
      return { ...base, inputRequests: inputRequestsOf(task, capabilities) as unknown as JsonObject }
    case 'completed':
      return {
        ...base,
        result: { resultType: 'complete', ...resultOfTask(task, toolOf(tools, task), settings) },
      }
    default:
      return base
  }
}
