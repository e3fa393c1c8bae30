/** `init` in a folder that has files: what it adds, keeps and refuses. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run, temporaryFolder } from './support/program.js'

/** A folder with this package.json, and what `npm install` writes beside it. */
function folderWith(manifest: string): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'package.json'), manifest)
  writeFileSync(join(folder, 'package-lock.json'), '{}')
  return folder
}

function manifestIn(folder: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
}

test('goes on after npm install, and adds to package.json what it lacks', async () => {
  const folder = folderWith('{"dependencies":{"a2a-tasks":"file:../a.tgz"}}')
  const { code, stdout } = await run(['init', '--javascript', '--name', 'mine'], { cwd: folder })
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^Wrote 8 files .+, and what package\.json lacked\n\nNext\n {2}npm install\n {2}npm test\n/,
    ) as unknown,
  })
  expect(manifestIn(folder)).toMatchObject({
    name: 'mine',
    type: 'module',
    dependencies: { 'a2a-tasks': 'file:../a.tgz' },
    scripts: { test: 'node --test agent.test.js' },
  })
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['agent.js', 'package-lock.json', 'server.js']))
})

test('overwrites no value of package.json, and says how to run what it wrote', async () => {
  const own = { name: 'own', type: 'module', scripts: { test: 'echo no test' }, x: [1] }
  const folder = folderWith(JSON.stringify(own))
  const { stdout } = await run(['init', '--javascript', '--name', 'mine'], { cwd: folder })
  const { scripts, ...others } = manifestIn(folder)
  expect(others).toMatchObject({ name: 'own', x: [1] })
  expect(scripts).toMatchObject({ test: 'echo no test', start: 'node server.js' })
  expect(stdout).toContain('\n  npm install\n  node --test agent.test.js\n  npm start\n')
})

test('replaces the test that npm init writes, which is none', async () => {
  const scripts = { test: 'echo "Error: no test specified" && exit 1' }
  const folder = folderWith(JSON.stringify({ type: 'module', scripts }))
  const { stdout } = await run(['init', '--javascript', '--name', 'mine'], { cwd: folder })
  expect(manifestIn(folder)).toMatchObject({ scripts: { test: 'node --test agent.test.js' } })
  expect(stdout).toContain('\n  npm install\n  npm test\n')
})

test.each([
  ['of a project of CommonJS', '{"type":"commonjs"}', /Run: npm pkg set type=module/],
  ['that is no JSON', '{', /is not a JSON object/],
])('refuses a package.json %s, and writes nothing', async (_, manifest, text) => {
  const folder = folderWith(manifest)
  expect(await run(['init'], { cwd: folder })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(text) as unknown,
  })
  expect(readdirSync(folder)).toEqual(['package-lock.json', 'package.json'])
})
