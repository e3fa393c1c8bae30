/** Agents with the real frameworks whose process is killed between two calls of tools, over a file. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/repository.js'
import { describeWith, runsMastra } from './installed.js'

/** Runs the agent until it has printed `last`, or ends. */
async function runAgent(args: readonly string[], last?: string): Promise<string[]> {
  const program = `${ROOT}test/frameworks/killed-agent.ts`
  const child = spawn(process.execPath, ['--import', 'tsx', program, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const printed: string[] = []
  for await (const line of createInterface(child.stdout)) {
    printed.push(line)
    if (line === last) child.kill('SIGKILL')
  }
  await ended
  return printed
}

for (const [name, framework] of [
  ['ai', 'ai'],
  ['@openai/agents', 'openai-agents'],
  ['@langchain/langgraph', 'langgraph'],
  ...(runsMastra ? [['@mastra/core', 'mastra'] as const] : []),
] as const) {
  describeWith(name, () => {
    test(
      'an agent that is killed repeats no call of the model or of a tool that has ended',
      { timeout: 120_000 },
      async () => {
        const folder = mkdtempSync(join(tmpdir(), 'a2a-killed-agent-'))
        onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
        const file = join(folder, 'tasks.db')
        const first = await runAgent([framework, file], 'book')
        const sent = first.find((line) => line.startsWith('{')) ?? '{}'
        expect(first.filter((line) => line !== sent)).toEqual(['model 1', 'weather', 'model 2', 'book'])
        const { result } = JSON.parse(sent) as { readonly result: { readonly task: { readonly id: string } } }
        expect(await runAgent([framework, file, result.task.id])).toEqual([
          'book',
          'model 3',
          'completed [{"text":"Let me see.\\n\\nBooked"}] {"inputTokens":30,"outputTokens":15,"cachedInputTokens":12,"reasoningTokens":6}',
        ])
      },
    )
  })
}
