/**
 * `npm run check`: every gate, to the last, even if one fails. `npm run check -- --skip test` leaves one out.
 *
 * Layering, bleed, size, exports, docs and examples are tests: see `test/package`.
 */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

/** Each of these reads the sources in one thread: two run at a time, the longest first. */
const READERS = ['check:types', 'check:lint', 'check:format', 'check:unused']
const OTHERS = ['test', 'check:package']

const { values } = parseArgs({ options: { skip: { type: 'string', multiple: true, default: [] } } })
const all = [...READERS, ...OTHERS]
for (const name of values.skip) if (!all.includes(name)) throw new Error(`There is no step ${name}`)
const isWanted = (name) => !values.skip.includes(name)
const failed = []

/** Runs a step. With `pipe`, shows what it prints when it has ended. */
async function run(name, stdio) {
  if (stdio === 'inherit') console.log(`\n▸ npm run ${name}`)
  const child = spawn('npm', ['run', '--silent', name], { stdio, shell: process.platform === 'win32' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  const status = await new Promise((resolve) => child.once('error', resolve).once('close', resolve))
  if (stdio === 'pipe') console.log(`\n▸ npm run ${name}\n${output}`.trimEnd())
  if (status !== 0) failed.push(name)
}

async function runInTurn(names, stdio) {
  for (let name = names.shift(); name !== undefined; name = names.shift()) await run(name, stdio)
}

const readers = READERS.filter(isWanted)
await Promise.all([runInTurn(readers, 'pipe'), runInTurn(readers, 'pipe')])
await runInTurn(OTHERS.filter(isWanted), 'inherit')

const count = all.filter(isWanted).length
console.log(
  `\ncheck: ${count - failed.length} passed, ${failed.length} failed ${failed.join(', ')}`.trimEnd(),
)
process.exitCode = failed.length === 0 ? 0 : 1
