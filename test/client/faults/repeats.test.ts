/** Messages that an earlier process may have sent. */
import { describe, expect, test } from 'vitest'
import { A2AClient, type RunHandle } from 'a2a-tasks/client'
import { fakeAgent, type FakeAgent } from 'a2a-tasks/testing'

function clientOf({ card, fetch }: FakeAgent): A2AClient {
  return new A2AClient({ card, fetch, retry: { baseDelayMs: 1 } })
}

/** The handle of a run that ends before it sends its message. */
async function begun(agent: FakeAgent): Promise<RunHandle> {
  let begun: RunHandle | undefined
  const onStart = (handle: RunHandle): never => {
    begun = handle
    throw new Error('Died')
  }
  await expect(clientOf(agent).run('go', { onStart })).rejects.toThrow('Died')
  if (begun === undefined) throw new Error('onStart was not called')
  return JSON.parse(JSON.stringify(begun)) as RunHandle
}

describe('onStart', () => {
  test('comes before the message, which waits for it', async () => {
    const agent = fakeAgent('done')
    let requests: number | undefined
    const onStart = async (handle: RunHandle): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      requests = agent.requests.length
      expect(handle).toEqual({
        messageId: expect.any(String) as string,
        contextId: expect.any(String) as string,
        isOwnContext: true,
      })
    }
    expect(await clientOf(agent).run('go', { onStart })).toMatchObject({ type: 'completed' })
    expect(requests).toBe(0)
  })

  test('that throws sends nothing', async () => {
    const agent = fakeAgent('done')
    await begun(agent)
    expect(agent.requests).toHaveLength(0)
  })
})

describe('repeats', () => {
  test('follows the task where the agent has the message', async () => {
    const agent = fakeAgent('done')
    let handle: RunHandle | undefined
    await clientOf(agent).run('go', { onStart: (first) => void (handle = first) })
    const { messageId = '' } = handle ?? {}
    const again = { parts: [{ text: 'go' }], messageId }
    const result = await clientOf(agent).run(again, { repeats: handle })
    expect(result).toMatchObject({ type: 'completed', text: 'done' })
    expect(agent.tasks.size()).toBe(1)
  })

  test('sends the message where the agent certainly has no trace of it', async () => {
    const agent = fakeAgent('done')
    const repeats = await begun(agent)
    const { messageId } = repeats
    const result = await clientOf(agent).run({ parts: [{ text: 'go' }], messageId }, { repeats })
    expect(result).toMatchObject({ type: 'completed', text: 'done' })
    expect(agent.tasks.listTasks()[0]?.messages[0]).toMatchObject({
      messageId,
      contextId: repeats.contextId,
    })
  })

  test('sends nothing if the agent cannot say', async () => {
    const agent = fakeAgent('done')
    const message = { parts: [{ text: 'go' }], messageId: 'm' }
    const result = await clientOf(agent).run(message, { repeats: { messageId: 'm' } })
    expect(result).toMatchObject({ type: 'error', error: { code: 'INVALID_AGENT_RESPONSE' } })
    expect(agent.tasks.size()).toBe(0)
  })

  test('sends an answer where the task has only the messages before it', async () => {
    const agent = fakeAgent(async (run) => {
      const [part] = (await run.requireInput('How many?')).parts
      return part !== undefined && 'text' in part ? part.text : 'none'
    })
    const asked = await clientOf(agent).run('go')
    const { id: taskId = '', contextId } = ('task' in asked && asked.task) || {}
    const answer = { parts: [{ text: 'two' }], messageId: 'answer', taskId, contextId }
    const repeats = { messageId: 'answer', taskId }
    const result = await clientOf(agent).run(answer, { repeats })
    expect(result).toMatchObject({ type: 'completed', text: 'two' })
    const again = await clientOf(agent).run(answer, { repeats })
    expect(again).toMatchObject({ type: 'completed', text: 'two' })
    expect(
      agent.tasks.listTasks()[0]?.messages.filter(({ messageId }) => messageId === 'answer'),
    ).toHaveLength(1)
  })

  test('is no option of calls that send no message of the caller', async () => {
    const client = clientOf(fakeAgent('done'))
    const options = { repeats: { messageId: 'm' } } as object
    await expect(client.resume({ messageId: 'm', taskId: 't' }, options)).rejects.toThrow(
      'Unknown option "repeats" of resume',
    )
    await expect(client.sendTask('https://agent.test', 't', options)).rejects.toThrow(
      'Unknown option "repeats" of sendTask',
    )
  })
})
