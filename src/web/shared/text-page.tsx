import { showSettings } from './frame.tsx'

// A page that is only a text, which the daemon has written.
showSettings()
