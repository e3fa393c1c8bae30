/**
 * The browser of the user, opened at a URL.
 *
 * @module
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/**
 * Opens a page that leads to `url`, from a file that only the user can read: other users of the machine can read the
 * arguments of programs. The returned function removes the file. Where there is no browser, the user has the URL.
 */
export function openBrowser(url: string): () => void {
  // Its mode is 0o700.
  const folder = mkdtempSync(join(tmpdir(), 'a2a-tasks-'))
  const file = join(folder, 'inspector.html')
  writeFileSync(file, pageTo(url), { mode: 0o600 })
  const [program, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, file], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
  return () => rmSync(folder, { recursive: true, force: true })
}

/** `url` has no character that HTML gives a meaning. */
function pageTo(url: string): string {
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${url}">
<title>Tasks</title>
<a href="${url}">Open the inspector</a>
`
}
