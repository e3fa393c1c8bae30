/** The oldest compiler that reads the package's declarations: TypeScript 5.0. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { Consumer } from '../../support/consumer.js'
import { ENTRIES, ROOT } from '../../support/repository.js'
import { skipMissing } from '../installed.js'

const PACKAGE = 'typescript-5.0'
const COMPILER = fileURLToPath(new URL(`../node_modules/${PACKAGE}/lib/tsc.js`, import.meta.url))
const OPTIONS = '--noEmit --strict --target es2022 --module nodenext --moduleResolution nodenext --types node'

const consumer = new Consumer()
for (const name of ['zod', 'eventemitter3', 'yaml', '@types']) consumer.install(name)
afterAll(() => {
  consumer.remove()
})

// One run: the compiler reads and checks all declarations for each.
test(
  'compiles all entries for both module systems, and finds a fault',
  { timeout: 120_000 },
  async (context) => {
    skipMissing(context, PACKAGE)
    const lines = ENTRIES.map((entry, index) => `import * as entry${index} from 'a2a-tasks${entry}'`)
    const code = `${lines.join('\n')}\nexport { ${names(ENTRIES.length)} }\n`
    const wrong = `import { TaskManager } from 'a2a-tasks'\nnew TaskManager({ maxTasks: 'many' })\n`
    expect(existsSync(`${ROOT}dist/index.d.cts`)).toBe(true)
    const output = await compile([
      ...['mts', 'cts'].map((end) => consumer.write(`all.${end}`, code)),
      consumer.write('fault.mts', wrong),
    ])
    // It knows less than the declarations of zod and of Node use. With `skipLibCheck`, that does not matter.
    expect(output.split('\n').filter((line) => /dist\/|all\.[mc]ts/.test(line))).toEqual([])
    expect(output).toMatch(/fault\.mts.*TS2322/)
  },
)

function names(count: number): string {
  return Array.from({ length: count }, (_, index) => `entry${index}`).join(', ')
}

function compile(files: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const args = [COMPILER, ...OPTIONS.split(' '), ...files]
    execFile(process.execPath, args, { cwd: consumer.folder, maxBuffer: 1 << 24 }, (_, output) => {
      resolve(output)
    })
  })
}
