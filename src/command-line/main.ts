#!/usr/bin/env node
/**
 * Entry of the program `a2a-tasks`.
 *
 * @module
 */
import { run } from './program.js'
import { terminalOf } from './terminal/terminal.js'

// A reader such as `head` may end before the output does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await run(process.argv.slice(2), terminalOf(process))
