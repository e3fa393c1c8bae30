/** `sendTask` for the task that a run of a request handler works on. */
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Run } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, onTestFinished, test } from 'vitest'

/** What `delegate` has thrown in a run, and the task of the run. */
async function inRun(
  delegate: (client: A2AClient, url: string, run: Run, tasks: DurableTaskManager) => Promise<unknown>,
): Promise<{ readonly thrown: unknown; readonly taskId: string }> {
  const agent = fakeAgent('Sunny')
  const tasks = new DurableTaskManager({ store: memoryStore() })
  onTestFinished(() => tasks.destroy())
  const client = new A2AClient({ taskManager: tasks, fetch: agent.fetch })
  let thrown: unknown
  let taskId = ''
  const handler = createRequestHandler<never, DurableTaskManager>({
    card: { name: 'Planner', url: 'https://planner.test' },
    tasks,
    async execute(run) {
      taskId = run.task.id
      await delegate(client, agent.url, run, tasks).catch((error: unknown) => (thrown = error))
      return 'done'
    },
  })
  onTestFinished(() => handler.close({ graceMs: 1 }))
  const caller = new A2AClient({
    card: handler.card,
    fetch: (url, init) => handler.fetch(new Request(url, init)),
  })
  expect(await caller.run('Plan a picnic')).toMatchObject({ type: 'completed', text: 'done' })
  return { thrown, taskId }
}

test('the error says what to do instead', async () => {
  const { thrown, taskId } = await inRun((client, url, run) => client.sendTask(url, run.taskId))
  expect(thrown).toMatchObject({
    code: 'UNSUPPORTED_OPERATION',
    message: `Task ${taskId} is in use by a run of a request handler, or by another replica. In a run, delegate a new task: sendTask(agent, await tasks.createTask({ skill, input }))`,
  })
})

test('the remedy that the error names works', async () => {
  const { thrown } = await inRun(async (client, url, _, tasks) => {
    const done = await client.sendTask(url, await tasks.createTask({ skill: 'weather', input: 'Oslo?' }))
    expect(done).toMatchObject({ type: 'completed', text: 'Sunny' })
  })
  expect(thrown).toBeUndefined()
})
