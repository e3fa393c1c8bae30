/**
 * The time, for texts such as `2 min ago`.
 *
 * @module
 */
import { useEffect, useState } from 'preact/hooks'

const NOW_MS = 5_000

/** In ms since 1970, read again every five seconds. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), NOW_MS)
    return () => clearInterval(timer)
  }, [])
  return now
}
