/** The name of a complete backup that a schedule made: files under other names are never touched. */
export const COMPLETE = /^musette-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z(?:-([0-9a-f]{8}))?\.tar$/
