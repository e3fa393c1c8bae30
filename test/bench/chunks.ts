/**
 * Agents that answer in 2,000 chunks, by hand, as the code around a model does.
 */
import type { Run } from 'a2a-tasks/server'
import { chunkOf } from './peers/official.js'
import type { Work } from './peers/official-server.js'
import { YIELD_EVERY, yieldToLoop } from './workload.js'

export const CHUNKS = 2_000

export const chunkText = (index: number): string => `chunk ${index} of the answer `

async function eachChunk(send: (text: string) => void): Promise<void> {
  for (let index = 0; index < CHUNKS; index++) {
    if (index > 0 && index % YIELD_EVERY === 0) await yieldToLoop()
    send(chunkText(index))
  }
}

export async function oursInChunks(run: Run): Promise<void> {
  await eachChunk((text) => void run.artifact({ artifactId: 'answer', parts: [{ text }] }))
}

export const officialInChunks: Work = async (publish, taskId) => {
  await eachChunk((text) => publish(chunkOf(taskId, 'answer', text)))
}
