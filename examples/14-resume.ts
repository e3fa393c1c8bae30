/** One process follows a task and dies. Another process resumes the run. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { A2AClient, textOf, type RunHandle } from 'a2a-tasks/client'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'

const [, , agentUrl, handleFile = join(tmpdir(), `handle-${process.pid}.json`)] = process.argv

/** The first process: stores the handle at each event, and exits after the second page. */
async function begin(url: string): Promise<void> {
  const agent = await A2AClient.connect(url)
  await agent.run('Four pages', {
    onUpdate({ event, handle }) {
      writeFileSync(handleFile, JSON.stringify(handle))
      if (event.type !== 'artifact') return
      console.log(`first process:  ${textOf(event.artifact)}`)
      if (textOf(event.artifact).includes('2')) process.exit(1)
    },
  })
}

/** The second process: it knows the file and the URL of the agent. */
async function resume(url: string, onResumed: () => void): Promise<string> {
  const agent = await A2AClient.connect(url)
  const handle = JSON.parse(readFileSync(handleFile, 'utf8')) as RunHandle
  const result = await agent.resume(handle, {
    onUpdate({ event }) {
      // The first event is the current task. Artifacts that it already has are not sent again.
      if (event.type === 'artifact') console.log(`second process: ${textOf(event.artifact)}`)
      onResumed()
    },
  })
  assert.equal(result.type, 'completed')
  return result.text
}

/** Starts the agent, then both processes, one after the other. */
async function main(): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let goOn = (): void => {}
  const pause = new Promise<void>((resolve) => (goOn = resolve))
  let runs = 0
  const handler = createRequestHandler({
    card: { name: 'Scribe', url },
    async *execute() {
      runs++
      for (let page = 1; page <= 4; page++) {
        if (page === 3) await pause
        yield await sleep(20, `Page ${page}. `)
      }
    },
  })
  server.on('request', toNodeListener(handler.fetch))

  const program = [...process.execArgv, fileURLToPath(import.meta.url), url, handleFile]
  const [code] = (await once(spawn(process.execPath, program, { stdio: 'inherit' }), 'exit')) as [number]
  assert.equal(code, 1)
  assert.equal(await resume(url, goOn), 'Page 1. Page 2. Page 3. Page 4. ')
  // The message was sent once, and the agent did the work once.
  assert.equal(runs, 1)

  rmSync(handleFile)
  await handler.close()
  server.close()
}

await (agentUrl === undefined ? main() : begin(agentUrl))
