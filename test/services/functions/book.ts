/** A durable function of 20 steps, a question and a sleep, that writes down each time that a step runs. */
import { randomUUID } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { textOf, type Run } from '../../../src/server/index.js'

export const STEPS = 20
const ASKS_BEFORE = 7
const SLEEPS_BEFORE = 14
/** Of a step, at most. */
const WORK_MS = 40

/** Each step appends its key and a new id to `file`, and returns the id. */
export async function book(run: Run, file: string): Promise<string> {
  let answer = ''
  for (let step = 0; step < STEPS; step += 1) {
    if (step === ASKS_BEFORE) answer = textOf(await run.requireInput('What?'))
    if (step === SLEEPS_BEFORE) await run.sleep('pause', { ms: 300 })
    await run.step('work', async ({ key }) => {
      const id = randomUUID()
      await appendFile(file, `${key} ${id}\n`)
      await delay(Math.random() * WORK_MS)
      return id
    })
  }
  return `You said ${answer}`
}
