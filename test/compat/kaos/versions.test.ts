/** KAOS' task managers, for clients of A2A's versions. */
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { LocalTaskManager, corvid, kaos, litellm, v0_1 } from 'a2a-tasks/compat'
import { v0_3, v1 } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { ask, curl, serve, taskOf } from './support/kaos.js'
import { ORIGIN } from '../../server/spec/support/agent.js'

describe('the versions of A2A', () => {
  const dialects = [v1(), v0_3(), kaos()]
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Analyze this data' }] }

  test('are served, too', async () => {
    const handler = serve(undefined, { dialects })
    const { json } = await curl(handler, ask('SendMessage', { message }), { 'A2A-Version': '1.0' })
    const { task } = json['result'] as unknown as { task: { id: string } }
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    const canceled = await curl(handler, ask('CancelTask', { id: task.id }), { 'A2A-Version': '1.0' })
    expect(canceled.json).toMatchObject({ error: { code: -32002 } })
  })

  test('find the answer among the artifacts; KAOS finds it in the conversation', async () => {
    const handler = serve(undefined, { dialects })
    const artifacts = [{ artifactId: 'answer', parts: [{ text: 'Analysis result...' }] }]
    const sent = await curl(handler, ask('SendMessage', { message }), { 'A2A-Version': '1.0' })
    const { task } = sent.json['result'] as unknown as { task: { id: string } }
    expect(task).toMatchObject({ artifacts })
    const { id } = task
    const found = await curl(handler, ask('GetTask', { id, historyLength: 0 }), { 'A2A-Version': '1.0' })
    expect(found.json['result']).toMatchObject({ artifacts })
    expect(taskOf(await curl(handler, ask('tasks/get', { id }), { 'A2A-Version': '0.3' }))).toMatchObject({
      artifacts: [{ artifactId: 'answer', parts: [{ kind: 'text', text: 'Analysis result...' }] }],
    })
    expect(taskOf(await curl(handler, ask('GetTask', { id }), { 'A2A-Version': 'kaos' }))).toMatchObject({
      artifacts: [],
      output: '',
    })
  })

  test.each(['failed', 'own'])(
    'find no answer in a task that has failed or has artifacts (%s)',
    async (kind) => {
      const tasks = new TaskManager()
      const manager = new LocalTaskManager(
        (_, { taskId }) => {
          if (kind === 'failed') throw new Error('secret')
          tasks.appendArtifact(taskId, { artifactId: 'chart', parts: [{ url: 'https://agent.test/chart' }] })
          return 'See the chart'
        },
        { tasks, onError: () => undefined },
      )
      const handler = serve(manager, { dialects })
      const { json } = await curl(handler, ask('SendMessage', { message }), { 'A2A-Version': '1.0' })
      const { task } = json['result'] as unknown as { task: { artifacts?: { artifactId: string }[] } }
      expect((task.artifacts ?? []).map(({ artifactId }) => artifactId)).toEqual(
        kind === 'own' ? ['chart'] : [],
      )
    },
  )

  test("give clients the answer as the result's text", async () => {
    const handler = serve(undefined, { dialects })
    const agent = await A2AClient.connect(ORIGIN, {
      fetch: (input, init) => handler.fetch(new Request(input, init)),
    })
    expect(await agent.run('Analyze this data')).toMatchObject({
      ok: true,
      text: 'Analysis result...',
    })
  })

  test.each([v0_1(), corvid(), litellm()])(
    'that choose ids or times, as $version, are refused',
    (dialect) => {
      expect(() => serve(undefined, { dialects: [v1(), dialect] })).toThrow(
        new TypeError(
          `"dialects" must be kaos(), v1(), v0_3() or your own, got that of ${dialect.version}: createRequestHandler() speaks it`,
        ),
      )
    },
  )

  test.each([
    ['SendStreamingMessage', { message }, -32004],
    ['ListTasks', {}, -32004],
    ['SubscribeToTask', { id: 'x' }, -32004],
    ['GetExtendedAgentCard', {}, -32004],
    ['ListTaskPushNotificationConfigs', { taskId: 'x' }, -32003],
  ])('do not have %s here', async (method, params, code) => {
    const handler = serve(undefined, { dialects })
    const response = await handler.dispatch(ask(method, params), { version: '1.0' })
    expect(response).toMatchObject({ error: { code } })
  })

  test('have no push notifications here', async () => {
    const configuration = { taskPushNotificationConfig: { url: 'https://hook.test' } }
    const handler = serve(undefined, { dialects })
    const response = await handler.dispatch(ask('SendMessage', { message, configuration }), {
      version: '1.0',
    })
    expect(response).toMatchObject({ error: { code: -32003 } })
  })
})
