import { namesByNumber } from './profile.ts'

/** Event names of the FIT profile, by number. */
export const EVENTS =
  namesByNumber(`0, timer, 3, workout, workoutStep, powerDown, powerUp, offCourse, session, lap, coursePoint, battery, virtualPartnerPace, hrHighAlert, hrLowAlert,
  speedHighAlert, speedLowAlert, cadHighAlert, cadLowAlert, powerHighAlert, powerLowAlert, recoveryHr, batteryLow, timeDurationAlert,
  distanceDurationAlert, calorieDurationAlert, activity, fitnessEquipment, length, 32, userMarker, sportPoint, 36, calibration, 42, frontGearChange,
  rearGearChange, riderPositionChange, elevHighAlert, elevLowAlert, commTimeout, 54, autoActivityDetect, 56, diveAlert, diveGasSwitched, 71,
  tankPressureReserve, tankPressureCritical, tankLost, 75, radarThreatAlert, tankBatteryLow, 81, tankPodConnected, tankPodDisconnected`)

/** event_type names of the FIT profile, by number. */
export const EVENT_TYPES = namesByNumber(
  `0, start, stop, consecutiveDepreciated, marker, stopAll, beginDepreciated, endDepreciated, endAllDepreciated, stopDisable,
  stopDisableAll`,
)

/** Manufacturer names of the FIT profile, by number. */
export const MANUFACTURERS =
  namesByNumber(`1, garmin, garminFr405Antfs, zephyr, dayton, idt, srm, quarq, ibike, saris, sparkHk, tanita, echowell, dynastreamOem, nautilus, dynastream, timex,
  metrigear, xelic, beurer, cardiosport, aAndD, hmm, suunto, thitaElektronik, gpulse, cleanMobile, pedalBrain, peaksware, saxonar, lemondFitness,
  dexcom, wahooFitness, octaneFitness, archinoetics, theHurtBox, citizenSystems, magellan, osynce, holux, concept2, shimano, oneGiantLeap,
  aceSensor, brimBrothers, xplova, perceptionDigital, bf1systems, pioneer, spantec, metalogics, 4iiiis, seikoEpson, seikoEpsonOem, iforPowell,
  maxwellGuider, starTrac, breakaway, alatechTechnologyLtd, mioTechnologyEurope, rotor, geonaute, idBike, specialized, wtek, physicalEnterprises,
  northPoleEngineering, bkool, cateye, stagesCycling, sigmasport, tomtom, peripedal, wattbike, 76, moxy, ciclosport, powerbahn, acornProjectsAps,
  lifebeam, bontrager, wellgo, scosche, magura, woodway, elite, nielsenKellerman, dkCity, tacx, directionTechnology, magtonic, 1partcarbon,
  insideRideTechnologies, soundOfMotion, stryd, icg, miPulse, bsxAthletics, look, campagnoloSrl, bodyBikeSmart, praxisworks, limitsTechnology,
  topactionTechnology, cosinuss, fitcare, magene, giantManufacturingCo, tigrasport, salutron, technogym, brytonSensors, latitudeLimited,
  soaringTechnology, igpsport, thinkrider, gopherSport, waterrower, orangetheory, inpeak, kinetic, johnsonHealthTech, polarElectro, seesense,
  nciTechnology, iqsquare, leomo, ifitCom, corosByte, versaDesign, chileaf, cycplus, gravaaByte, sigeyi, coospo, geoid, bosch, kyto, kineticSports,
  decathlonByte, tqSystems, tagHeuer, keiserFitness, zwiftByte, porscheEp, blackbird, meilanByte, ezon, laisi, myzone, abawo, bafang,
  luhongTechnology, 255, development, 257, healthandlife, lezyne, scribeLabs, zwift, watteam, recon, faveroElectronics, dynovelo, strava, precor,
  bryton, sram, navman, cobi, spivi, mioMagellan, evesports, sensitivusGauge, podoon, lifeTimeFitness, falcoEMotors, minoura, cycliq, luxottica,
  trainerRoad, theSufferfest, fullspeedahead, virtualtraining, feedbacksports, omata, vdo, magneticdays, hammerhead, kineticByKurt, shapelog,
  dabuziduo, jetblack, coros, virtugo, velosense, cycligentinc, trailforks, mahleEbikemotion, nurvv, microprogram, zone5cloud, greenteg,
  yamahaMotors, whoop, gravaa, onelap, monarkExercise, form, decathlon, syncros, heatup, cannondale, trueFitness, rGTCycling, vasa, raceRepublic,
  fazua, orekaTraining, lsec, lululemonStudio, shanyue, spinningMda, hilldating, aeroSensor, nike, magicshine, ictrainer, absoluteCycling,
  eoSwimbetter, mywhoosh, ravemen, tektroRacingProducts, daradInnovationCorporation, cycloptim, 337, runna, 339, zepp, peloton, carv, tissot, 345,
  realVelo, wetech, jespr, huawei, gotoes, cadenceApp, unaWatch, tymewear, exposureLights, fortoCycling, 5759, actigraphcorp`)

/** Garmin product names of the FIT profile, by number. */
export const GARMIN_PRODUCTS =
  namesByNumber(`1, hrm1, axh01, axb01, axb02, hrm2ss, dsiAlf02, hrm3ss, hrmRunSingleByteProductId, bsm, bcm, axs01, hrmTriSingleByteProductId,
  hrm4RunSingleByteProductId, fr225SingleByteProductId, gen3BsmSingleByteProductId, gen3BcmSingleByteProductId, 22, hrmFitSingleByteProductId, 255,
  oHR, 473, fr301China, fr301Japan, fr301Korea, 494, fr301Taiwan, 717, fr405, 782, fr50, 987, fr405Japan, fr60, 1011, dsiAlf01, 1018, fr310xt, 1036,
  edge500, 1124, fr110, 1169, edge800, 1199, edge500Taiwan, 1213, edge500Japan, 1253, chirp, 1274, fr110Japan, 1325, edge200, 1328, fr910xt, 1333,
  edge800Taiwan, edge800Japan, 1341, alf04, 1345, fr610, 1360, fr210Japan, 1380, vectorSs, vectorCp, 1386, edge800China, edge500China, 1405,
  approachG10, 1410, fr610Japan, 1422, edge500Korea, 1436, fr70, 1446, fr310xt4t, 1461, amx, 1482, fr10, 1497, edge800Korea, 1499, swim, 1537,
  fr910xtChina, 1551, fenix, 1555, edge200Taiwan, 1561, edge510, 1567, edge810, 1570, tempe, 1600, fr910xtJapan, 1623, fr620, 1632, fr220, 1664,
  fr910xtKorea, 1688, fr10Japan, 1721, edge810Japan, 1735, virbElite, edgeTouring, 1742, edge510Japan, hrmTri, 1752, hrmRun, 1765, fr920xt, 1821,
  edge510Asia, edge810China, edge810Taiwan, 1836, edge1000, vivoFit, 1853, virbRemote, 1885, vivoKi, 1903, fr15, 1907, vivoActive, 1918,
  edge510Korea, 1928, fr620Japan, fr620China, fr220Japan, fr220China, 1936, approachS6, 1956, vivoSmart, 1967, fenix2, 1988, epix, 2050, fenix3,
  2052, edge1000Taiwan, edge1000Japan, 2061, fr15Japan, 2067, edge520, 2070, edge1000China, 2072, fr620Russia, fr220Russia, 2079, vectorS, 2100,
  edge1000Korea, 2130, fr920xtTaiwan, fr920xtChina, fr920xtJapan, 2134, virbx, vivoSmartApac, 2140, etrexTouch, 2147, edge25, fr25, 2150, vivoFit2,
  2153, fr225, 2156, fr630, fr230, fr735xt, 2160, vivoActiveApac, vector2, vector2s, 2172, virbxe, fr620Taiwan, fr220Taiwan, truswing, 2187,
  d2airvenu, fenix3China, fenix3Twn, 2192, variaHeadlight, variaTaillightOld, 2204, edgeExplore1000, 2219, fr225Asia, 2225, variaRadarTaillight,
  variaRadarDisplay, 2238, edge20, 2260, edge520Asia, edge520Japan, d2Bravo, 2266, approachS20, 2271, vivoSmart2, 2274, edge1000Thai, 2276,
  variaRemote, 2288, edge25Asia, edge25Jpn, edge20Asia, 2292, approachX40, fenix3Japan, vivoSmartEmea, 2310, fr630Asia, fr630Jpn, 2313, fr230Jpn,
  2327, hrm4Run, 2332, epixJapan, 2337, vivoActiveHr, 2347, vivoSmartGpsHr, vivoSmartHr, 2361, vivoSmartHrAsia, vivoSmartGpsHrAsia, 2368, vivoMove,
  2379, variaTaillight, 2396, fr235Asia, fr235Japan, variaVision, 2406, vivoFit3, fenix3Korea, fenix3Sea, 2413, fenix3Hr, 2417, virbUltra30, 2429,
  indexSmartScale, 2431, fr235, fenix3Chronos, 2441, oregon7xx, 2444, rino7xx, 2457, epixKorea, 2473, fenix3HrChn, fenix3HrTwn, fenix3HrJpn,
  fenix3HrSea, fenix3HrKor, 2496, nautix, vivoActiveHrApac, 2503, fr35, 2512, oregon7xxWw, 2530, edge820, edgeExplore820, 2533, fr735xtApac,
  fr735xtJapan, 2544, fenix5s, 2547, d2BravoTitanium, 2567, variaUt800, 2593, runningDynamicsPod, 2599, edge820China, edge820Japan, 2604, fenix5x,
  2606, vivoFitJr, 2622, vivoSmart3, vivoSport, 2628, edge820Taiwan, edge820Korea, edge820Sea, 2650, fr35Hebrew, 2656, approachS60, 2667, fr35Apac,
  fr35Japan, 2675, fenix3ChronosAsia, 2687, virb360, 2691, fr935, 2697, fenix5, 2700, vivoactive3, 2713, edge1030, 2727, fr35Sea, 2733,
  fr235ChinaNfc, 2769, foretrex601_701, 2772, vivoMoveHr, 2787, vector3, 2796, fenix5Asia, fenix5sAsia, fenix5xAsia, 2806, approachZ80, 2814,
  fr35Korea, 2819, d2charlie, 2831, vivoSmart3Apac, vivoSportApac, fr935Asia, 2859, descent, 2878, vivoFit4, 2886, fr645, 2888, fr645m, 2891, fr30,
  2900, fenix5sPlus, 2909, edge130, 2924, edge1030Asia, 2927, vivosmart4, 2945, vivoMoveHrAsia, 2962, approachX10, 2977, fr30Asia, 2988,
  vivoactive3mW, 3003, fr645Asia, fr645mAsia, 3011, edgeExplore, 3028, gpsmap66, 3049, approachS10, 3066, vivoactive3mL, 3076, fr245, fr245Music,
  3085, approachG80, 3092, edge130Asia, 3095, edge1030Bontrager, 3110, fenix5Plus, fenix5xPlus, edge520Plus, fr945, 3121, edge530, edge830, 3126,
  instinctEsports, 3134, fenix5sPlusApac, fenix5xPlusApac, 3142, edge520PlusApac, descentT1, fr235lAsia, fr245Asia, 3163, vivoActive3mApac, 3192,
  gen3Bsm, gen3Bcm, 3218, vivoSmart4Asia, 3224, vivoactive4Small, vivoactive4Large, venu, 3246, marqDriver, marqAviator, marqCaptain, marqCommander,
  marqExpedition, marqAthlete, 3258, descentMk2, 3282, fr45, 3284, gpsmap66i, 3287, fenix6SSport, fenix6S, fenix6Sport, fenix6, fenix6x, 3299,
  hrmDual, hrmPro, 3308, vivoMove3Premium, 3314, approachS40, 3321, fr245mAsia, 3349, edge530Apac, edge830Apac, 3378, vivoMove3, 3387,
  vivoActive4SmallAsia, vivoActive4LargeAsia, vivoActive4OledAsia, 3405, swim2, 3420, marqDriverAsia, marqAviatorAsia, vivoMove3Asia, 3441,
  fr945Asia, 3446, vivoActive3tChn, 3448, marqCaptainAsia, marqCommanderAsia, marqExpeditionAsia, marqAthleteAsia, 3461, indexSmartScale2, 3466,
  instinctSolar, 3469, fr45Asia, 3473, vivoactive3Daimler, 3498, legacyRey, legacyDarthVader, legacyCaptainMarvel, legacyFirstAvenger, 3512,
  fenix6sSportAsia, fenix6sAsia, fenix6SportAsia, fenix6Asia, fenix6xAsia, 3535, legacyCaptainMarvelAsia, legacyFirstAvengerAsia, legacyReyAsia,
  legacyDarthVaderAsia, 3542, descentMk2s, 3558, edge130Plus, 3570, edge1030Plus, 3578, rally200, 3589, fr745, 3596, venusqMusic, 3599,
  venusqMusicV2, venusq, 3615, lily, 3624, marqAdventurer, 3638, enduro, swim2Apac, 3648, marqAdventurerAsia, 3652, fr945Lte, 3702, descentMk2Asia,
  venu2, venu2s, 3737, venuDaimlerAsia, 3739, marqGolfer, venuDaimler, 3794, fr745Asia, 3808, variaRct715, lilyAsia, 3812, edge1030PlusAsia,
  edge130PlusAsia, 3823, approachS12, 3837, venusqAsia, 3843, edge1040, 3850, marqGolferAsia, venu2Plus, 3865, gnss, 3869, fr55, 3872, enduroAsia,
  3888, instinct2, instinct2s, 3905, fenix7s, fenix7, fenix7x, fenix7sApac, fenix7Apac, fenix7xApac, 3927, approachG12, 3930, descentMk2sAsia, 3934,
  approachS42, 3943, epixGen2, epixGen2Apac, 3949, venu2sAsia, venu2Asia, 3978, fr945LteAsia, 3982, vivoMoveSport, vivomoveTrend, 3986,
  approachS12Asia, 3990, fr255Music, fr255SmallMusic, fr255, fr255Small, 4001, approachG12Asia, approachS42Asia, 4005, descentG1, 4017,
  venu2PlusAsia, 4024, fr955, 4033, fr55Asia, 4061, edge540, edge840, vivosmart5, 4071, instinct2Asia, 4105, marqGen2, 4115, venusq2, venusq2music,
  4124, marqGen2Aviator, d2AirX10, 4130, hrmProPlus, 4132, descentG1Asia, 4135, tactix7, 4155, instinctCrossover, 4169, edgeExplore2, 4222,
  descentMk3, descentMk3i, 4233, approachS70, 4257, fr265Large, fr265Small, 4260, venu3, venu3s, 4265, tacxNeoSmart, tacxNeo2Smart, tacxNeo2TSmart,
  tacxNeoSmartBike, tacxSatoriSmart, tacxFlowSmart, tacxVortexSmart, tacxBushidoSmart, tacxGeniusSmart, tacxFluxFluxSSmart, tacxFlux2Smart,
  tacxMagnum, 4305, edge1040Asia, 4312, epixGen2Pro42, epixGen2Pro47, epixGen2Pro51, fr965, 4341, enduro2, 4374, fenix7sProSolar, fenix7ProSolar,
  fenix7xProSolar, 4380, lily2, 4394, instinct2x, 4426, vivoactive5, 4432, fr165, fr165Music, 4440, edge1050, 4442, descentT2, 4446, hrmFit, 4472,
  marqGen2Commander, 4477, lilyAthlete, 4525, rallyX10, 4532, fenix8Solar, fenix8SolarLarge, fenix8Small, 4536, fenix8, 4556, d2Mach1Pro, 4565,
  fr970, 4570, fr570Large, 4574, fr570Small, enduro3, 4583, instinctE40mm, instinctE45mm, instinct3Solar45mm, instinct3Amoled45mm,
  instinct3Amoled50mm, descentG2, 4595, fenix7ProSolarNoWifi, 4603, venuX1, 4606, hrm200, 4625, vivoactive6, 4631, fenix8Pro, 4633, edge550,
  edge850, 4643, venu4, venu4s, 4647, approachS44, 4655, edgeMtb, approachS50, 4666, fenixE, 4678, instinctCrossoverAmoled, 4745, bounce2, 4759,
  instinct3Solar50mm, 4775, tactix8Amoled, tactix8Solar, 4814, fr170Music, fr170, 4825, approachJ1, 4879, d2Mach2, 4916, fr702026, 4944, d2AirX15,
  4952, fenix9Pro43mm, fenix9Pro47mm, fenix9Pro51mm, fenix9ProSolar47mm, fenix9ProSolar51mm, 5019, cirqaSmartBand, 5056, d2Mach2Pro, 5133,
  fenix943mm, fenix9, 10007, sdm4, 10014, edgeRemote, 20119, trainingCenter, 20533, tacxTrainingAppWin, tacxTrainingAppMac, 20565,
  tacxTrainingAppMacCatalyst, 30045, tacxTrainingAppAndroid, tacxTrainingAppIos, tacxTrainingAppLegacy, 30059, trainingPeaksVirtualIos,
  trainingPeaksVirtualAndroid, trainingPeaksVirtualWindows, trainingPeaksVirtualMacOs, trainingPeaksVirtualAppleTv, 65531, connectiqSimulator,
  androidAntplusPlugin, 65534, connect`)

/** sub_sport names of the FIT profile, by number. */
export const SUB_SPORTS =
  namesByNumber(`0, generic, treadmill, street, trail, track, spin, indoorCycling, road, mountain, downhill, recumbent, cyclocross, handCycling, trackCycling,
  indoorRowing, elliptical, stairClimbing, lapSwimming, openWater, flexibilityTraining, strengthTraining, warmUp, match, exercise, challenge,
  indoorSkiing, cardioTraining, indoorWalking, eBikeFitness, bmx, casualWalking, speedWalking, bikeToRunTransition, runToBikeTransition,
  swimToBikeTransition, atv, motocross, backcountry, resort, rcDrone, wingsuit, whitewater, skateSkiing, yoga, pilates, indoorRunning,
  gravelCycling, eBikeMountain, commuting, mixedSurface, navigate, trackMe, map, singleGasDiving, multiGasDiving, gaugeDiving, apneaDiving,
  apneaHunting, virtualActivity, obstacle, 62, breathing, ccrDiving, 65, sailRace, expedition, ultra, indoorClimbing, bouldering, hiit,
  indoorGrinding, huntingWithDogs, amrap, emom, tabata, 77, esport, triathlon, duathlon, brick, swimRun, adventureRace, truckerWorkout, pickleball,
  padel, indoorWheelchairWalk, indoorWheelchairRun, indoorHandCycling, 90, field, ice, ultimate, platform, squash, badminton, racquetball,
  tableTennis, overland, trollingMotor, 110, flyCanopy, flyParaglide, flyParamotor, flyPressurized, flyNavigate, flyTimer, flyAltimeter, flyWx,
  flyVfr, flyIfr, 121, dynamicApnea, 123, enduro, rucking, rally, poolTriathlon, eBikeEnduro, 254, all`)

/** lap_trigger names of the FIT profile, by number. */
export const LAP_TRIGGERS = namesByNumber(
  `0, manual, time, distance, positionStart, positionLap, positionWaypoint, positionMarked, sessionEnd, fitnessEquipment`,
)

/** intensity names of the FIT profile, by number. */
export const INTENSITIES = namesByNumber(`0, active, rest, warmup, cooldown, recovery, interval, other`)

/** battery_status names of the FIT profile, by number. */
export const BATTERY_STATUSES = namesByNumber(`1, new, good, ok, low, critical, charging, unknown`)

/** source_type names of the FIT profile, by number. */
export const SOURCE_TYPES = namesByNumber(`0, ant, antplus, bluetooth, bluetoothLowEnergy, wifi, local`)

/** ANT+ device type names of the FIT profile, by number. */
export const ANT_DEVICE_TYPES =
  namesByNumber(`1, antfs, 11, bikePower, environmentSensorLegacy, 15, multiSportSpeedDistance, control, fitnessEquipment, bloodPressure, geocacheNode,
  lightElectricVehicle, 25, envSensor, racquet, controlHub, 31, muscleOxygen, 34, shifting, bikeLightMain, bikeLightShared, 38, exd, 40, bikeRadar,
  46, bikeAero, 119, weightScale, heartRate, bikeSpeedCadence, bikeCadence, bikeSpeed, strideSpeedDistance`)

/** Bluetooth device type names of the FIT profile, by number. */
export const BLE_DEVICE_TYPES = namesByNumber(
  `0, connectedGps, heartRate, bikePower, bikeSpeedCadence, bikeSpeed, bikeCadence, footpod, bikeTrainer`,
)

/** local_device_type names of the FIT profile, by number. */
export const LOCAL_DEVICE_TYPES = namesByNumber(
  `0, gps, glonass, gpsGlonass, accelerometer, barometer, temperature, 10, whr, 12, sensorHub`,
)
