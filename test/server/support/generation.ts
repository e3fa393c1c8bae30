/** Clients of A2A 1.1, in both bindings. */
import { setImmediate as turn } from 'node:timers/promises'
import type { JsonObject, Task } from 'a2a-tasks/schemas'
import type { Execute } from 'a2a-tasks/server'
import {
  agent,
  type Binding,
  type Failure,
  type TestAgent,
  type TestAgentOptions,
  type Unary,
} from '../spec/support/agent.js'

export type Numbered = Task & { readonly generation: number }

export const preview = { generation: true }
export const SPEAKING = { '1.1': { 'A2A-Version': '1.1' }, '1.0': { 'A2A-Version': '1.0' }, none: {} }

export function draft(execute: Execute, options: TestAgentOptions = {}): TestAgent {
  return agent(execute, { preview, ...options })
}

/** Asks for nothing but the user's words, over and over. */
export const asking: Execute = async (run) => {
  for (;;) {
    const { parts } = await run.requireInput('More?')
    if (parts[0]?.text === 'end') break
  }
}

let messages = 0
export function user(text: string, taskId?: string): JsonObject {
  messages += 1
  return {
    ...{ messageId: `m-${messages}`, role: 'ROLE_USER', parts: [{ text }] },
    ...(taskId !== undefined && { taskId }),
  }
}

export interface Answer {
  readonly status: number
  readonly result?: unknown
  readonly error?: Failure
}

export async function ask(
  binding: Binding,
  { handler }: Pick<TestAgent, 'handler'>,
  operation: Unary,
  params: object,
  signal?: AbortSignal,
): Promise<Answer> {
  const init = { headers: SPEAKING['1.1'], ...(signal && { signal }) }
  const response = await handler.fetch(binding.request(operation, params, init))
  return { status: response.status, ...binding.unwrap((await response.json()) as JsonObject) }
}

export async function taskOf(answer: Promise<Answer>): Promise<Numbered> {
  const { result, error } = await answer
  if (error !== undefined) throw new Error(JSON.stringify(error))
  const { task = result } = result as { task?: unknown }
  return task as Numbered
}

/** A request that is on its way, and whether it has been answered yet. */
export function pending<T>(promise: Promise<T>): {
  readonly promise: Promise<T>
  readonly isOver: () => Promise<boolean>
} {
  let isOver = false
  const settle = (): void => {
    isOver = true
  }
  promise.then(settle, settle)
  return { promise, isOver: () => turn().then(() => isOver) }
}
