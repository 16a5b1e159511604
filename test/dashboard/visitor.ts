import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

export type Visitor = {
  /** opens a page of the dashboard in a profile of its own and waits for its contents */
  visit(path: string, options?: BrowserContextOptions): Promise<Page>
  /** what pages complained of since it was last asked: errors on the console, and requests to other hosts */
  takeComplaints(): string[]
}

export const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 800 }, hasTouch: true }

/** Makes who visits the pages and listens to what they complain of. */
export function makeVisitor(browser: Browser, url: string): Visitor {
  let complaints: string[] = []
  return {
    async visit(path, options = {}) {
      const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })
      const page = await context.newPage()
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(String(error)))
      page.on('request', (request) => {
        if (!request.url().startsWith(`${url}/`)) complaints.push(`asked for ${request.url()}`)
      })
      await page.goto(`${url}${path}`)
      await page.locator('main h1').waitFor()
      return page
    },
    takeComplaints() {
      const taken = complaints
      complaints = []
      return taken
    },
  }
}
