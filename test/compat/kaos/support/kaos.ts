/** Handlers of KAOS' task managers, and who calls them. */
import type { JsonObject } from 'a2a-tasks/schemas'
import {
  createTaskManagerHandler,
  LocalTaskManager,
  type ProcessFn,
  type SessionTaskManager,
  type TaskManagerHandler,
  type TaskManagerHandlerOptions,
} from 'a2a-tasks/compat'
import { ORIGIN } from '../../../server/spec/support/agent.js'

export const analyze: ProcessFn = () => 'Analysis result...'

export type Options = Partial<TaskManagerHandlerOptions<{ id: string }>>

export function serve(
  taskManager: SessionTaskManager = new LocalTaskManager(analyze),
  options: Options = {},
): TaskManagerHandler<{ id: string }> {
  return createTaskManagerHandler({ card: { name: 'my-agent', url: ORIGIN }, taskManager, ...options })
}

/** As `curl -X POST http://agent:8000/ -H "Content-Type: application/json" -d body`. */
export async function curl(
  { fetch }: TaskManagerHandler<{ id: string }>,
  body: string | JsonObject,
  headers: Record<string, string> = {},
): Promise<{ status: number; json: JsonObject }> {
  const response = await fetch(
    new Request(`${ORIGIN}/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  )
  return { status: response.status, json: (await response.json()) as JsonObject }
}

export function send(text: string, more: JsonObject = {}): JsonObject {
  const params = { message: { role: 'user', parts: [{ type: 'text', text }] }, ...more }
  return { jsonrpc: '2.0', method: 'SendMessage', id: 1, params }
}

export function ask(method: string, params: JsonObject, id: string | number = 2): JsonObject {
  return { jsonrpc: '2.0', method, id, params }
}

export function taskOf({ json }: { json: JsonObject }): JsonObject & { id: string } {
  return json['result'] as JsonObject & { id: string }
}
