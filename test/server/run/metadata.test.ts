/** Metadata of the task that its code sets, as clients see them. */
import { evolve, TaskManager, type TaskSnapshot } from 'a2a-tasks'
import { A2AClient, type RemoteTask } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type Principal } from 'a2a-tasks/server'
import { expect, onTestFinished, test } from 'vitest'

type Tasks = TaskManager | DurableTaskManager

function serve(tasks: Tasks, execute: Execute): { readonly client: A2AClient; readonly tasks: Tasks } {
  const handler = createRequestHandler<Principal, Tasks>({
    card: { name: 'Agent', url: 'http://agent.test' },
    ...{ tasks, execute, anonymous: 'shared' },
  })
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 })
    await tasks.destroy()
  })
  const client = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  return { client, tasks }
}

const managers = [
  ['memory', () => new TaskManager()],
  ['a store', () => new DurableTaskManager({ store: memoryStore() })],
] as const

test.each(managers)('reach clients by streams and by the task, over %s', async (_, open) => {
  const { client, tasks } = serve(open(), async (run) => {
    run.update('Looking')
    run.setMetadata({ city: 'Rome', draft: true })
    await run.step('find', () => run.setMetadata({ draft: null, found: 2 }))
    return 'done'
  })
  const seen: unknown[] = []
  const result = await client.run('go', {
    onUpdate: ({ event, task }) => {
      if (event.type === 'status')
        seen.push([event.metadata, task.message?.parts[0]?.text, { ...task.metadata }])
    },
  })
  expect(seen).toContainEqual([{ city: 'Rome', draft: true }, 'Looking', { city: 'Rome', draft: true }])
  expect(seen).toContainEqual([{ draft: null, found: 2 }, 'Looking', { city: 'Rome', found: 2 }])
  expect(result).toMatchObject({ ok: true, task: { metadata: { city: 'Rome', found: 2 } } })
  const { id = '' } = (result as { readonly task?: RemoteTask }).task ?? {}
  const folded = (await tasks.events(id)).reduce<TaskSnapshot | undefined>(evolve, undefined)
  expect(folded?.metadata).toEqual({ city: 'Rome', found: 2 })
})

test('are separate from those of the request', async () => {
  const { client } = serve(new TaskManager(), (run) => {
    run.setMetadata({ city: 'Rome' })
    return JSON.stringify([run.metadata, run.task.metadata])
  })
  expect(await client.run('go', { metadata: { asked: true } })).toMatchObject({
    text: '[{"asked":true},{"city":"Rome"}]',
  })
})

test('cannot have keys of the library, nor follow the end of the task', async () => {
  const codes: unknown[] = []
  const { client } = serve(new TaskManager(), (run) => {
    const attempt = (changes: object): void => {
      try {
        run.setMetadata(changes)
      } catch (error) {
        codes.push((error as { readonly code?: string }).code)
      }
    }
    attempt({ 'https://a2a-tasks.dev/extensions/spending/v1': { total: { cost: 0 } } })
    attempt({ handle: Symbol('no JSON') })
    run.complete()
    attempt({ late: true })
  })
  expect(await client.run('go')).toMatchObject({ ok: true, task: { metadata: {} } })
  expect(codes).toEqual(['INVALID_PARAMS', 'INVALID_PARAMS', 'TASK_TERMINAL'])
})
