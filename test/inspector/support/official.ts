/** An agent that is not ours: a server of the official SDK. */
import { A2AClient } from 'a2a-tasks/client'
import { onTestFinished } from 'vitest'
import { serveOfficialAgent } from '../../conformance/support/official-agent.js'

export async function official(): Promise<{
  client: A2AClient
  stop: () => void
  taskOf: (text: string) => Promise<string>
}> {
  const { url, close } = await serveOfficialAgent()
  onTestFinished(close)
  const client = await A2AClient.connect(url, { retry: { attempts: 1 } })
  const taskOf = async (text: string): Promise<string> => {
    const sent = await client.send(text, { returnImmediately: true })
    if (sent.type !== 'task') throw new Error('There is no task')
    return sent.task.id
  }
  return { client, stop: close, taskOf }
}
