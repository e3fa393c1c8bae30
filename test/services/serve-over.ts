/**
 * An agent over a store, for tests of what the user of a database connection may do.
 *
 * @module
 */
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, type TaskStore } from 'a2a-tasks/durable'
import { createRequestHandler, textOf } from 'a2a-tasks/server'

/** Holds a conversation with an agent over `store`, and removes its task. Rejects with the first error of the background. */
export async function serveOver(store: TaskStore): Promise<{ text: string; removed: number }> {
  const errors: Error[] = []
  const onError = (error: Error): void => void errors.push(error)
  const tasks = new DurableTaskManager({ store, retention: { default: { maxAgeMs: 0 } }, onError })
  const handler = createRequestHandler({
    card: { name: 'Greeter', url: 'https://agent.example' },
    execute: async (run) => `Hello ${textOf(await run.requireInput('What is your name?'))}`,
    tasks,
  })
  const fetch = (url: string, init?: RequestInit) => handler.fetch(new Request(url, init))
  const agent = await A2AClient.connect('https://agent.example', { fetch })
  const { text } = await agent.run('Good morning', { onInputRequired: () => 'Ada' })
  const removed = await tasks.prune()
  await handler.close()
  await tasks.destroy()
  const [error] = errors
  if (error !== undefined) throw error
  return { text, removed }
}
