/**
 * Files that the page saves, and texts that it copies.
 *
 * @module
 */
/** Saves a file. Its type is none that a browser opens as a page. */
export function download(name: string, content: string | Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name.replace(/[^\w.-]+/g, '_').slice(0, 100) || 'file'
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
