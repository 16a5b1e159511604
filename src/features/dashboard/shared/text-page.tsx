import { showSettings } from './frame.tsx'

// A page whose only content is a text of the daemon.
showSettings()
