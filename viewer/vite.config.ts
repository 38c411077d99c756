import { defineConfig, type Plugin } from 'vite'

/** Puts scripts and styles into the page itself: a report is one file and asks the network for nothing. */
function oneFile(): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = bundle['index.html']
      if (!page || page.type !== 'asset') return
      let html = String(page.source)
      for (const [name, item] of Object.entries(bundle)) {
        if (item.type === 'chunk') {
          // The script moves to the end of the body: it must find the record before it.
          const code = item.code.replace(/<\/script/g, '<\\/script')
          html = html.replace(new RegExp(`<script[^>]*src="[^"]*${item.fileName}"[^>]*></script>`), '')
          html = html.replace('</body>', () => `<script type="module">${code}</script>\n</body>`)
          delete bundle[name]
        } else if (name.endsWith('.css')) {
          html = html.replace(new RegExp(`<link[^>]*href="[^"]*${item.fileName}"[^>]*>`), () => `<style>${String(item.source)}</style>`)
          delete bundle[name]
        }
      }
      page.source = html
    },
  }
}

export default defineConfig({
  plugins: [oneFile()],
  build: { modulePreload: false, assetsInlineLimit: 1 << 20, cssCodeSplit: false, chunkSizeWarningLimit: 2000, reportCompressedSize: false },
})
