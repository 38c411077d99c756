// A number that changes with the sources of the page: FNV-1a, 64 bits, over names and contents.
// `crates/record/tests/page.rs` computes the same one.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const SOURCES = ['index.html', 'package-lock.json', 'package.json', 'src', 'tsconfig.json', 'vite.config.ts']

function files(root, path) {
  if (!statSync(join(root, path)).isDirectory()) return [path]
  return readdirSync(join(root, path)).sort().flatMap((name) => files(root, `${path}/${name}`))
}

export function stamp(root) {
  let hash = 0xcbf29ce484222325n
  const add = (bytes) => {
    for (const byte of bytes) {
      // A checkout may have changed the ends of lines.
      if (byte === 13) continue
      hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn
    }
  }
  for (const file of SOURCES.flatMap((source) => files(root, source))) {
    add(Buffer.from(`${file}\0`))
    add(readFileSync(join(root, file)))
  }
  return hash.toString(16).padStart(16, '0')
}
