/** The page behind a real nginx, and below a name that another site lets lead here, in a real browser. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium as engine } from 'playwright-core'
import { afterAll, expect, it, onTestFinished, type TestContext } from 'vitest'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { agentOver, OPEN, talk } from './support/inspected.js'
import { serve, visit } from './support/visit.js'
import { freePort } from '../support/free-port.js'

afterAll(closeBrowser)

const NGINX = '/usr/sbin/nginx'

function requireNginx({ skip }: TestContext): void {
  if (existsSync(NGINX)) return
  const text = 'There is no nginx here: apt-get install nginx-light'
  if (process.env['CI']) throw new Error(text)
  skip(text)
}

/** nginx before `target`, with a line of its configuration, until the test is finished. */
async function startNginx(target: string, line: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  const port = await freePort()
  const file = join(folder, 'config')
  writeFileSync(
    file,
    `daemon off; master_process off; error_log stderr; events {}
pid ${folder}/pid;
http { access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder};
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://${new URL(target).host}; ${line} } }
}`,
  )
  const child = spawn(NGINX, ['-c', file], { stdio: 'ignore' })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  const isServing = (): Promise<boolean> =>
    fetch(url).then(
      () => true,
      () => false,
    )
  await expect.poll(isServing).toBe(true)
  return url
}

it.for([
  ['leaves the port out of Host', 'proxy_set_header Host $host;'],
  ['passes Host on', 'proxy_set_header Host $http_host;'],
  ['puts the name of its upstream', 'proxy_set_header Host upstream.internal;'],
] as const)('cancels a task behind an nginx that %s', { timeout: 90_000 }, async ([, line], context) => {
  requireNginx(context)
  const chromium = requireChromium(context)
  const agent = await agentOver('TaskManager')
  const id = await talk(agent, 'wait', true)
  const hosts = ['upstream.internal']
  const target = await serve({ ...OPEN, tasks: agent.tasks, handler: agent, hosts })
  const url = await startNginx(target, line)
  const { page, faults } = await visit(chromium, `${url}/inspector/#/t/${id}`)
  await page.getByRole('button', { name: 'Cancel task' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click()
  await page.locator('.heading-facts').getByText('Canceled').waitFor()
  expect(await agent.tasks.stateOf(id)).toBe('canceled')
  expect(faults).toEqual([])
})

it('shows nothing at a name that another site lets lead here', { timeout: 60_000 }, async (context) => {
  const executablePath = requireChromium(context)
  const agent = await agentOver('TaskManager')
  const id = await talk(agent, 'wait', true)
  const { port } = new URL(await serve({ ...OPEN, tasks: agent.tasks, handler: agent }))
  const args = ['--no-sandbox', '--host-resolver-rules=MAP evil.test 127.0.0.1']
  const browser = await engine.launch({ executablePath, args })
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const response = await page.goto(`http://evil.test:${port}/inspector/`)
  expect(response?.status()).toBe(403)
  expect(await page.textContent('body')).toContain('the option \\"hosts\\" of createInspector')
  // It is of the origin of the page, as far as the browser knows.
  const statuses = await page.evaluate(async (taskId) => {
    const headers = { 'x-a2a-inspector': '1', 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: '{}' }
    const cancel = await fetch(`/inspector/api/tasks/${taskId}/cancel`, init)
    return [(await fetch('/inspector/api/tasks', { headers })).status, cancel.status]
  }, id)
  expect(statuses).toEqual([403, 403])
  expect(await agent.tasks.stateOf(id)).toBe('working')
})
