/**
 * `npm run check`: every gate in turn, to the last, even if one fails. `npm run check -- --skip test` leaves one out.
 *
 * Layering, bleed, size, exports, docs and examples are tests: see `test/package`.
 */
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { skip: { type: 'string', multiple: true, default: [] } } })
const all = ['check:format', 'check:lint', 'check:types', 'check:unused', 'test', 'check:package']
for (const name of values.skip) if (!all.includes(name)) throw new Error(`There is no step ${name}`)

const failed = []
const steps = all.filter((step) => !values.skip.includes(step))
for (const step of steps) {
  console.log(`\n▸ npm run ${step}`)
  const { status } = spawnSync('npm', ['run', '--silent', step], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) failed.push(step)
}

console.log(
  `\ncheck: ${steps.length - failed.length} passed, ${failed.length} failed ${failed.join(', ')}`.trimEnd(),
)
process.exitCode = failed.length === 0 ? 0 : 1
