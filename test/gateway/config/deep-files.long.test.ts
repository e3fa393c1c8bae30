/** A file as long as one may be that nests as deep as it can, read in a process of its own: it is refused there. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { ROOT } from '../../support/repository.js'

const PROGRAM = `
import { loadGatewayConfig } from 'a2a-tasks/gateway'
const [unit] = process.argv.slice(-1)
const text = unit.repeat(Math.floor(262_000 / unit.length))
console.log(await loadGatewayConfig(text).catch(({ code, message }) => code + ': ' + message))
`

it.each(['{a: ', '[', '- ', '? '])(
  'a file of "%s" is refused, and its process continues',
  async (unit) => {
    const flags = ['--max-old-space-size=64', '--input-type=module', '--eval', PROGRAM]
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--', unit], { cwd: ROOT })
    expect(stdout).toMatch(/^CONFIGURATION_ERROR: gateway.yaml:1:\d+ nests too deep\n$/)
  },
  60_000,
)
